//! `build-index ARGS` is `acx build-index ARGS`.

#[path = "../cli/mod.rs"]
mod cli;

fn main() -> std::process::ExitCode {
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_else(|| "acx".into());
    cli::run(
        [name, "build-index".into()]
            .into_iter()
            .chain(args)
            .collect(),
    )
}
