//! Arguments → settings → one library call → exit status. The only code that prints, exits, or reads the clock, the
//! environment and randomness.

mod build;
mod document;
mod environment;
mod explain;
mod export;
mod hook;
mod hooks;
mod import;
mod index;
mod init;
mod keys;
mod lance;
mod learn;
mod level;
mod output;
mod place;
mod progress;
mod publish;
mod report;
mod show;
mod site;
mod strip;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

use acx_registry::disk;
use acx_registry::document::Kind;
use acx_registry::model::Timestamp;
use acx_registry::policy::TrustRegistry;
use acx_registry::report::FAILED;

/// A cartridge becomes tens of thousands of small values; this allocator takes half the time of the C library's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The gate of a git registry of `.acx` agent cartridges
#[derive(Parser)]
#[command(name = "acx", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: GlobalArgs,
}

#[derive(clap::Args, Clone, Copy)]
struct GlobalArgs {
    /// How results are printed; the exit status is the same for all
    #[arg(long, value_enum, default_value_t = AnyFormat::Human, global = true)]
    format: AnyFormat,
    /// Say nothing but results and errors
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Say more: each file's verdict and time; twice: the slowest files as well
    #[arg(long, short, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Show no progress bar
    #[arg(long, global = true)]
    no_progress: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AnyFormat {
    /// For people
    Human,
    /// For programs; versioned
    Json,
    /// Reports alone: annotations for GitHub Actions, then the text for people
    Github,
    /// Reports alone: SARIF 2.1.0, for code scanning
    Sarif,
    /// Reports alone: JUnit XML, for test dashboards
    Junit,
}

/// What every command is told.
#[derive(Clone, Copy)]
struct Global {
    /// How results that are no report are printed.
    format: Format,
    /// How a report is printed.
    report: report::Rendering,
    quiet: bool,
    verbose: u8,
    no_progress: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Human,
    Json,
}

impl From<GlobalArgs> for Global {
    fn from(args: GlobalArgs) -> Self {
        let (format, report) = match args.format {
            AnyFormat::Human => (Format::Human, report::Rendering::Human),
            AnyFormat::Json => (Format::Json, report::Rendering::Json),
            AnyFormat::Github => (Format::Human, report::Rendering::Github),
            AnyFormat::Sarif => (Format::Human, report::Rendering::Sarif),
            AnyFormat::Junit => (Format::Human, report::Rendering::Junit),
        };
        Self {
            format,
            report,
            quiet: args.quiet,
            verbose: args.verbose,
            no_progress: args.no_progress,
        }
    }
}

#[derive(Subcommand)]
enum Command {
    /// Found a registry: policy, hooks, a signing key outside of it, and its first signed index
    Init(init::Args),
    /// Validate every artifact of a registry and write its signed index.json
    BuildIndex(Box<build::Args>),
    /// Hold the history since a base against what is published there
    CheckHistory(build::HistoryArgs),
    /// Judge a push before it lands: git's hook of that name
    PreReceive(hooks::PreArgs),
    /// Build and commit the index after a push: git's hook of that name, for a server without CI
    PostReceive(hooks::PostArgs),
    /// Put git's hooks into a server's repository, and take them out
    #[command(subcommand)]
    Hook(hook::Command),
    /// Verify a registry's index by a key you know, and the artifacts that are present
    VerifyIndex(index::Args),
    /// Write a static web site of a registry's verified index
    Site(site::Args),
    /// Say what a registry's gate would say of these files
    Check(show::CheckArgs),
    /// Say who signed an artifact and whether it is what they signed
    Verify(show::VerifyArgs),
    /// Print the package spec and validate the package
    Spec(show::FileArgs),
    /// Show what is inside an artifact
    Inspect(show::InspectArgs),
    /// Explain a cartridge's level credentials: what each claims, and how far it is proven
    Level(level::Args),
    /// Materialize the Lance dataset of a cartridge's memory
    Lance(lance::LanceArgs),
    /// Search the signed memory of a registry's accepted cartridges
    Search(lance::SearchArgs),
    /// Take a cartridge's portable memory and its skills into a package folder
    Import(import::Args),
    /// Write what was learned in one codebase into a cartridge's SAVE zone
    Learn(learn::Args),
    /// Put an artifact into its place in a registry's work tree, checked as the gate will check it
    Publish(publish::Args),
    /// Make a signed cartridge of an agent package folder
    Export(export::Args),
    /// Strip a cartridge to its ROM zone, and prove that what was signed is unchanged
    Strip(strip::Args),
    /// Lint, sign, digest and show workflows (`*.cal.json`)
    #[command(subcommand)]
    Workflow(document::Command),
    /// Lint, sign, digest and show Agent Graphs (`*.agent-graph.json`)
    #[command(subcommand)]
    Graph(document::Command),
    /// Explain a finding's code
    Explain(explain::Args),
    /// Make and show signing keys
    #[command(subcommand)]
    Key(keys::Command),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// The run failed: one message on standard error, exit status 2.
struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Runs the program; the first argument is its name.
pub fn run(args: Vec<OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output with status 0, usage errors to standard error with status 2.
            let status = u8::try_from(error.exit_code()).unwrap_or(FAILED);
            let text = error.render().to_string();
            if error.use_stderr() {
                // It repeats the arguments, and a shell's pattern makes arguments of strangers' file names.
                let lines: Vec<String> =
                    text.split('\n').map(acx_registry::report::escape).collect();
                output::error(&lines.join("\n"))
            } else {
                output::print(&text)
            }
            return ExitCode::from(status);
        }
    };
    let is_report = matches!(
        cli.command,
        Command::BuildIndex(_)
            | Command::CheckHistory(_)
            | Command::PreReceive(_)
            | Command::Check(_)
            | Command::Verify(_)
            | Command::Workflow(document::Command::Lint { .. })
            | Command::Graph(document::Command::Lint { .. })
    );
    if !is_report && !matches!(cli.global.format, AnyFormat::Human | AnyFormat::Json) {
        output::error(
            "error: --format: expected human or json: this command prints no report on files\n",
        );
        return ExitCode::from(FAILED);
    }
    let global = Global::from(cli.global);
    let result = match cli.command {
        Command::Init(args) => init::run(args, global),
        Command::BuildIndex(args) => build::run(*args, global),
        Command::CheckHistory(args) => build::check_history(args, global),
        Command::PreReceive(args) => hooks::pre_receive(args, global),
        Command::PostReceive(args) => hooks::post_receive(args, global),
        Command::Hook(command) => hook::run(command, global),
        Command::VerifyIndex(args) => index::run(args, global),
        Command::Site(args) => site::run(args, global),
        Command::Check(args) => show::check(args, global),
        Command::Verify(args) => show::verify(args, global),
        Command::Spec(args) => show::spec(args, global),
        Command::Inspect(args) => show::inspect(args, global),
        Command::Level(args) => level::run(args, global),
        Command::Lance(args) => lance::lance(args, global),
        Command::Search(args) => lance::search(args, global),
        Command::Import(args) => import::run(args, global),
        Command::Learn(args) => learn::run(args, global),
        Command::Publish(args) => publish::run(args, global),
        Command::Export(args) => export::run(args, global),
        Command::Strip(args) => strip::run(args, global),
        Command::Workflow(command) => document::run(command, Kind::Workflow, global),
        Command::Graph(command) => document::run(command, Kind::AgentGraph, global),
        Command::Explain(args) => explain::run(args, global),
        Command::Key(command) => keys::run(command, global),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "acx", &mut script);
            output::print(&String::from_utf8_lossy(&script));
            Ok(0)
        }
        Command::Man => man(),
    };
    match result {
        Ok(_) if output::is_lost() => ExitCode::from(FAILED),
        Ok(status) => ExitCode::from(status),
        Err(Failure(message)) => {
            if global.report == report::Rendering::Github {
                output::print(&acx_registry::report::github_failure(&message));
            }
            output::error(&format!(
                "error: {}\n",
                acx_registry::report::escape(&message)
            ));
            ExitCode::from(FAILED)
        }
    }
}

fn man() -> Result<u8, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    output::print(&String::from_utf8_lossy(&page));
    Ok(0)
}

/// Numbers of threads that are accepted: more than any machine has use for would only be made to be waited for.
fn threads() -> impl clap::builder::TypedValueParser<Value = usize> {
    use clap::builder::TypedValueParser as _;
    clap::value_parser!(u16).range(0..=256).map(usize::from)
}

/// The publishers' keys in a file that the user named; none without one.
fn trust_registry(file: Option<&Path>, now: &Timestamp) -> Result<TrustRegistry, Failure> {
    let Some(file) = file else {
        return Ok(TrustRegistry::default());
    };
    let bytes = disk::read(file, TrustRegistry::MAX_BYTES as u64)
        .map_err(|e| Failure(format!("{}: {e}", file.display())))?;
    Ok(TrustRegistry::parse(&bytes, now)?)
}

/// Where a registry is.
#[derive(clap::Args)]
struct RegistryArg {
    /// The registry: a folder with `cartridges/` or acx-registry.toml, or one whose `registry/` has them
    #[arg(default_value = ".")]
    registry: PathBuf,
}
