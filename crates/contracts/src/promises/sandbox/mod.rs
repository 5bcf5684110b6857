//! The promises of a sandbox provider.
//!
//! A real provider runs [`kept`], all of it, with an image that has `/bin/sh`, `sleep` and `env`. Sandboxes that
//! only play a script have no processes, and run [`kept_by_scripts`]: what the engine lives on.
//!
//! Nothing here is left out silently. What the image or the host cannot show is in the [`Report`].

mod commands;
mod destroying;
mod endings;
mod files;
mod forking;
mod forwarding;
mod freezing;
mod meters;
mod opening;
mod refusals;
mod resting;
mod sealing;
mod stage;

use domain::{agent::Tier, id::SandboxId};

use super::{Broken, Kept};
use crate::sandbox::Sandboxes;

use self::stage::Stage;

/// What was promised but could not be shown here, each as a sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub not_shown: Vec<String>,
}

/// Plays with sandboxes named from `first` on, made of `image`, and leaves none of them.
pub async fn kept(
    sandboxes: &impl Sandboxes,
    first: SandboxId,
    image: &str,
) -> Result<Report, Broken> {
    kept_on(sandboxes, first, image, common_tier(sandboxes)).await
}

/// The same, on another tier.
pub async fn kept_on(
    sandboxes: &impl Sandboxes,
    first: SandboxId,
    image: &str,
    tier: Tier,
) -> Result<Report, Broken> {
    let stage = Stage::new(sandboxes, first, image, tier);
    let played = play_all(&stage).await;
    stage.clear().await;
    played
}

/// The same for sandboxes that only play a script.
pub async fn kept_by_scripts(sandboxes: &impl Sandboxes, first: SandboxId, image: &str) -> Kept {
    let stage = Stage::new(sandboxes, first, image, common_tier(sandboxes));
    let mut played = play_script(&stage).await;
    if played.is_ok() {
        played = freezing::a_frozen_sandbox_is_listed_as_such(&stage).await;
    }
    stage.clear().await;
    played
}

/// The strictest of those that every host may have; a host that has none breaks the first promise.
fn common_tier(sandboxes: &impl Sandboxes) -> Tier {
    let tiers = sandboxes.capabilities().tiers;
    let tier = [Tier::Standard, Tier::Verified].into_iter().find(|tier| tiers.contains(tier));
    tier.unwrap_or(Tier::Standard)
}

async fn play_script(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    opening::opens_once_and_is_listed(stage).await?;
    opening::a_name_belongs_to_one(stage).await?;
    commands::exit_codes_and_output_are_told(stage).await?;
    commands::a_repeated_name_gets_the_first_answer(stage).await?;
    resting::rests_and_wakes(stage).await?;
    meters::meters_never_run_backwards(stage).await?;
    refusals::wrong_limits_are_refused(stage).await?;
    refusals::unknown_images_are_refused(stage).await?;
    refusals::missing_tiers_are_refused(stage).await?;
    refusals::strangers_are_refused(stage).await?;
    destroying::is_destroyed_for_good(stage).await
}

async fn play_frozen(stage: &Stage<'_, impl Sandboxes>) -> Result<Option<String>, Broken> {
    if let Some(reason) = freezing::why_not(stage).await? {
        return Ok(Some(reason));
    }
    freezing::a_frozen_sandbox_is_listed_as_such(stage).await?;
    freezing::a_command_thaws_what_is_frozen(stage).await?;
    freezing::what_was_frozen_goes_on(stage).await?;
    Ok(None)
}

async fn play_all(stage: &Stage<'_, impl Sandboxes>) -> Result<Report, Broken> {
    let mut report = Report::default();
    play_script(stage).await?;

    opening::an_open_sandbox_is_what_was_asked_for(stage).await?;
    commands::output_and_errors_stay_apart(stage).await?;
    commands::input_arrives_and_ends(stage).await?;
    commands::the_environment_is_the_images_and_what_was_given(stage).await?;
    commands::it_runs_where_it_was_told_to(stage).await?;
    commands::a_terminal_is_one(stage).await?;
    commands::a_missing_program_is_named(stage).await?;
    commands::a_file_made_by_one_command_is_there_for_the_next(stage).await?;

    endings::signals_arrive(stage).await?;
    endings::time_runs_out_for_all_that_it_started(stage).await?;
    endings::too_much_output_is_cut(stage).await?;
    endings::dropping_the_future_ends_the_command(stage).await?;

    files::what_is_written_is_read(stage).await?;
    files::entries_are_told(stage).await?;
    files::an_archive_comes_out_and_goes_in(stage).await?;
    files::a_failing_path_is_told(stage).await?;

    report.not_shown.extend(forwarding::bytes_travel_both_ways(stage).await?);
    forwarding::a_port_that_nobody_listens_on_is_refused(stage).await?;

    report.not_shown.extend(play_frozen(stage).await?);
    resting::the_disk_outlives_a_rest(stage).await?;
    resting::a_command_wakes_what_sleeps(stage).await?;
    sealing::a_read_only_workspace_is_written_by_nobody(stage).await?;
    sealing::each_opening_says_what_can_be_written(stage).await?;
    forking::a_fork_has_the_disk_and_the_original_goes_on(stage).await?;
    meters::counters_outlive_a_rest(stage).await?;

    if stage.sandboxes.capabilities().missing.is_empty() {
        report.not_shown.push("this host has every tier, so none could be refused".to_owned());
    }
    Ok(report)
}
