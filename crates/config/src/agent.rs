//! `agents/*.yaml`: one agent of a repository, written by the repository's team.
//!
//! It says who works, what starts it, in which computer, with which network and
//! which checks. As a layer of policy it can only narrow what the organisation
//! and the platform allow.

mod image;
mod sandbox;
mod section;
mod trigger;

pub use image::{ImageBase, ImageBaseError};
pub use sandbox::{
    Compute, Exposure, Hooks, Image, Pusher, Repository, Sandbox, Service, Variable, VariableValue,
};
pub(crate) use section::report_open_gate;
pub use section::{
    Check, Driver, EgressSection, Header, LimitsSection, PhaseChoice, Phases, PlanSection,
    VerifyPhase, Visibility, Worker,
};
pub use trigger::{
    Anything, CheckFailed, CronTrigger, Labelled, SlackMention, Trigger, WebhookTrigger,
};

use domain::policy::Autonomy;

use crate::{problem::Problems, shape::record, unique::report_repeated, yaml::Node};

record! {
    /// One agent: who works, what starts it, where, and within which limits.
    pub struct AgentFile {
        /// The file's version, and the agent's name.
        lamp: Header,
        /// The program that does the work.
        agent: Worker,
        /// Another program, model or time limit for single phases.
        phases: Phases = Phases::default(),
        /// What starts a task, besides the command line, the web page and the API.
        triggers: Vec<Trigger> = vec![],
        /// The computer that each run gets.
        sandbox: Sandbox,
        /// What may be reached over the network, per phase. A phase that is left out reaches the model only.
        egress: EgressSection = EgressSection::default(),
        /// The plan and its approval.
        plan: PlanSection = PlanSection::default(),
        /// What the platform runs to prove the work. Detected where nothing is listed.
        checks: Vec<Check> = vec![],
        /// How often to try, how much to spend, and how long to wait for an answer.
        limits: LimitsSection = LimitsSection::default(),
        /// 1: a person reviews and merges. 2: checks approve, a person merges. 3: checks merge.
        autonomy: Autonomy = Autonomy::HumanReviews,
        /// Who sees the agent and its tasks.
        visibility: Visibility = Visibility::Team,
    }
    look = look;
}

fn look(node: &Node, problems: &mut Problems) {
    report_repeated(node.get("checks"), "name", problems);
}
