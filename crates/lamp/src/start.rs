//! From the arguments to an exit code: parse, run the command, report an error.

use std::{
    ffi::OsString,
    io::{self, Write},
};

use doctor::attempt;
use terminal::{
    colors::{ColorChoice, Colors, Stream},
    data_directory::Account,
    environment::Environment,
    exit::Exit,
    format::Format,
    report,
};

use crate::cli::{self, Cli, Command};

pub(crate) fn start(arguments: Vec<OsString>) -> Exit {
    // `lamp doctor` starts itself again to try things that would change the
    // process for good. This is not a command for people, so clap never sees it.
    if let Some(attempt) = attempt::asked_for(&arguments) {
        return attempt.answer(&mut io::stdout());
    }

    let environment = Environment::read();
    let wish = color_wish(&arguments);
    let format = format_wish(&arguments);
    let out_colors = Colors::decide(wish, &environment, Stream::of(&io::stdout()));
    let err_colors = Colors::decide(wish, &environment, Stream::of(&io::stderr()));
    let (mut out, mut err) = (Output(io::stdout()), io::stderr());

    let ended = match cli::parse(arguments) {
        Ok(cli) => run(&cli, &environment, out_colors, (&mut out, &mut err)),
        Err(shown) if shown.use_stderr() && format == Format::Json => {
            report::print_usage_json(&shown.render().to_string(), &mut err)
                .map(|()| Exit::WrongUsage)
        }
        Err(shown) if shown.use_stderr() => {
            explain(&shown, err_colors, &mut err).map(|()| Exit::WrongUsage)
        }
        Err(shown) => explain(&shown, out_colors, &mut out).map(|()| Exit::Done),
    };
    let ended = ended.and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    ended.unwrap_or_else(|error| {
        if report::is_reader_gone(&error) {
            return Exit::ReaderGone;
        }
        // Where even the error stream fails, the exit code is all that is left.
        let _ = match format {
            Format::Json => report::print_json(&error, &mut err),
            Format::People => {
                report::print(&error, err_colors, &mut err).map_err(anyhow::Error::from)
            }
        };
        Exit::Failed
    })
}

/// Names itself in its errors, which otherwise would read as the command's own.
struct Output<W>(W);

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| cannot_write(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| cannot_write(&error))
    }
}

fn cannot_write(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write the output: {error}"))
}

fn run(
    cli: &Cli,
    environment: &Environment,
    colors: Colors,
    (out, err): (&mut impl Write, &mut impl Write),
) -> anyhow::Result<Exit> {
    match &cli.command {
        Command::Tasks(tasks) => tasks.run(environment, colors, out, err),
        Command::Pr(pr) => pr.run(environment, colors, out),
        Command::Doctor(doctor) => {
            let host = doctor.measure(environment, Account::own())?;
            doctor.run(&host, colors, out)
        }
        Command::Demo(demo) => demo.run(environment, colors, out),
        Command::Config(config) => config.run(colors, out),
        Command::Policy(policy) => policy.run(environment, colors, out),
        Command::Audit(audit) => audit.run(environment, out),
        Command::Backup(backup) => backup.run(environment, out),
        Command::Restore(restore) => restore.run(environment, out),
        Command::Up(up) => up.run(environment, out),
        Command::Sandbox(sandbox) => sandbox.run(environment, out, err),
        Command::Image(image) => image.run(environment, out, err),
        Command::Agent(agent) => agent.run(environment, out, err),
        Command::Secret(secret) => secret.run(environment, out, err),
        Command::Egress(egress) => egress.run(environment, colors, out),
        Command::Version(version) => version.run(out),
        Command::Completions(completions) => completions.run(cli::command(), out),
    }
}

/// Help, the version, or what is wrong with the arguments.
fn explain(shown: &clap::Error, colors: Colors, out: &mut impl Write) -> anyhow::Result<()> {
    let text = shown.render();
    if colors.enabled() {
        write!(out, "{}", text.ansi())?;
    } else {
        write!(out, "{text}")?;
    }
    Ok(())
}

/// `--json`, found before clap has parsed anything: whoever reads JSON reads what is wrong with the arguments so too.
fn format_wish(arguments: &[OsString]) -> Format {
    let mut words = arguments.iter().take_while(|word| *word != "--");
    if words.any(|word| word == "--json") { Format::Json } else { Format::People }
}

/// `--color`, found before clap has parsed anything, because clap's own complaints obey it too.
fn color_wish(arguments: &[OsString]) -> ColorChoice {
    let words = arguments.iter().take_while(|word| *word != "--").map(|word| word.to_str());
    let mut wish = ColorChoice::Auto;
    let mut value_is_next = false;
    for word in words.map(Option::unwrap_or_default) {
        let value = if value_is_next { Some(word) } else { word.strip_prefix("--color=") };
        wish = match value {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            Some("auto") => ColorChoice::Auto,
            Some(_) | None => wish,
        };
        value_is_next = word == "--color";
    }
    wish
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_wants_json_is_known_before_anything_is_parsed() {
        let wish =
            |line: &str| format_wish(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(wish("lamp get last --json"), Format::Json);
        assert_eq!(wish("lamp get last"), Format::People);
        assert_eq!(wish("lamp sandbox run -- tool --json"), Format::People);
    }

    #[test]
    fn the_wish_for_colour_is_found_in_both_spellings() {
        let wish =
            |line: &str| color_wish(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(wish("lamp doctor"), ColorChoice::Auto);
        assert_eq!(wish("lamp --color=never doctor"), ColorChoice::Never);
        assert_eq!(wish("lamp doctor --color always"), ColorChoice::Always);
        assert_eq!(wish("lamp doctor --color purple"), ColorChoice::Auto);
        assert_eq!(wish("lamp doctor -- --color always"), ColorChoice::Auto);
    }
}
