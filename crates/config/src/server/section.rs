//! The sections of the server's file.

use std::time::Duration;

use domain::{agent::Tier, policy::ModelProvider};

use super::{ListenAddress, ModelAddress, ProviderTools, PublicUrl};
use crate::{
    agent::ImageBase,
    names::{FilePath, ModelName, PlainName, VariableName},
    problem::Problems,
    shape::{Count, known_words, record, words},
    units::{Cpu, Disk, Keep, Memory, Price, RunTime, Speech, Storage},
    yaml::Node,
};

record! {
    defaulted
    /// Where the server listens.
    pub struct Listen {
        /// The API and the web page.
        http: ListenAddress = ListenAddress::local(7180),
        /// Shells into sandboxes.
        ssh: ListenAddress = ListenAddress::local(7122),
    }
    verify = verify_listen;
}

fn verify_listen(listen: &Listen, node: &Node, problems: &mut Problems) {
    if listen.http == listen.ssh {
        let what = format!("`http` and `ssh` both listen on {}", listen.http);
        problems.report(node.place, what, "give them different ports");
    }
}

record! {
    defaulted
    /// How many tasks run at once. The others wait, and see their position.
    pub struct Concurrency {
        /// All together.
        running: Count<1, 10_000> = Count::nearest_to(4),
        /// In one repository.
        per_repository: Count<1, 10_000> = Count::nearest_to(4),
        /// For one person.
        per_person: Count<1, 10_000> = Count::nearest_to(4),
    }
    verify = verify_concurrency;
}

fn verify_concurrency(all: &Concurrency, node: &Node, problems: &mut Problems) {
    for (key, part) in [("per_repository", all.per_repository), ("per_person", all.per_person)] {
        if let Some(asked) = node.get(key).filter(|_| part > all.running) {
            let what = format!("`{key}` is more than `running`, which is {}", all.running.get());
            problems.report(asked.place, what, "raise `running`, or lower this one");
        }
    }
}

record! {
    defaulted
    /// How long things are kept. Events and the audit log are kept for good.
    pub struct Retention {
        /// What agents said and did.
        transcripts: Keep = Keep::hours(24 * 90),
        /// What programs printed.
        logs: Keep = Keep::hours(24 * 30),
        /// Sandboxes that hibernate.
        sandboxes: Keep = Keep::hours(24 * 7),
        /// Images that nobody has used.
        images: Keep = Keep::hours(24 * 30),
    }
}

words! {
    /// How log lines look.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object per line, for programs.
        Json = "json",
    }
}

words! {
    /// How much is logged.
    pub enum LogLevel {
        /// What went wrong.
        Error = "error",
        /// And what might.
        Warn = "warn",
        /// And what happened.
        Info = "info",
        /// And how.
        Debug = "debug",
        /// And everything else.
        Trace = "trace",
    }
}

record! {
    defaulted
    /// What the server says about itself.
    pub struct Log {
        /// How lines look.
        format: LogFormat = LogFormat::Text,
        /// How much is said.
        level: LogLevel = LogLevel::Info,
    }
}

record! {
    defaulted
    /// What an agent gets that does not say otherwise.
    pub struct Defaults {
        /// What a sandbox's file system begins with.
        base: ImageBase = ImageBase::Host,
        /// How strong its walls are.
        tier: Tier = Tier::Standard,
        /// Processors.
        cpu: Cpu = Cpu::ONE,
        /// Memory.
        memory: Memory = Memory::gib(4),
        /// Writable disk.
        disk: Disk = Disk::gib(20),
        /// How long a run may take.
        timeout: RunTime = RunTime::hours(2),
        /// How long an agent may say nothing before it is taken for hung.
        silence: RunTime = RunTime::nearest_to(Duration::from_mins(20)),
        /// How much one process of an agent may say, with all that it tells us about its work.
        output: Speech = Speech::nearest_to(256 << 20),
        /// How often the checks may fail before a task asks for help.
        attempts: Count<1, 20> = Count::nearest_to(5),
        /// Money for one task.
        budget: Price = Price::dollars(10),
    }
}

record! {
    defaulted
    /// Disk and warm sandboxes of this host.
    pub struct Storing {
        /// Disk for all sandboxes and images together.
        disk_budget: Storage = Storage::gib(100),
        /// How much of its disk every open sandbox has for sure, whatever the others write; an eighth of all at the most. Above it, up to its limit, it has what is left.
        disk_guaranteed: Disk = Disk::gib(1),
        /// Sandboxes that wait, booted, for a task.
        warm: Count<0, 1000> = Count::nearest_to(1),
        /// More directories of the host that the base `host` shows, read-only, with their programs first in `PATH`. Left out: those that rustup, pyenv, nvm, mise and the like keep in the home of whoever runs the server are found; `[]` shows none.
        toolchains: Option<Vec<FilePath>> = None,
    }
}

known_words! { ModelProvider;
    Anthropic = "anthropic": ["Anthropic."],
    Openai = "openai": ["`OpenAI`."],
    Gemini = "gemini": ["Google Gemini."],
    OpenaiCompatible = "openai-compatible": ["A server that speaks the same language, such as vLLM or Ollama; `url` says where."],
}

record! {
    /// One model provider.
    pub struct Model {
        /// The name by which it is called here.
        name: PlainName,
        /// Which language it speaks.
        provider: ModelProvider,
        /// The name of the secret that holds its key. A local model may have none.
        secret: Option<VariableName> = None,
        /// Where it is, if not at its usual place.
        url: Option<PublicUrl> = None,
        /// The addresses that the host of `url` may have. Needed for one in a private network, or on this machine.
        addresses: Vec<ModelAddress> = vec![],
        /// A file with the certificate authority that vouches for it.
        ca: Option<FilePath> = None,
        /// The model that agents ask which name none. Left out: the agent's own choice.
        model: Option<ModelName> = None,
        /// Whether tools may be used that run at the provider: it searches, fetches and connects for the agent, past the policy.
        provider_tools: ProviderTools = ProviderTools::Refused,
    }
}
