//! `acx lance` and `acx search`

use std::fmt::Write as _;
use std::path::PathBuf;

use acx_registry::author;
use acx_registry::disk;
use acx_registry::lance;
use acx_registry::model::ArtifactType;
use acx_registry::pipeline::{self, Query};
use acx_registry::policy::Policy;
use acx_registry::project::embed;
use acx_registry::registry::{self, Registry};
use acx_registry::report::{REJECTED, escape};
use serde_json::json;

use super::{Failure, Format, Global, environment, output};

/// Materialize the Lance dataset of a cartridge's memory
#[derive(clap::Args)]
pub struct LanceArgs {
    /// The cartridge
    file: PathBuf,
    /// The dataset's folder; otherwise the file's name with `.memories.lance` in place of `.acx`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Store the dataset in the cartridge's SAVE zone too. The signature stays valid, but a public registry refuses a
    /// cartridge with SAVE data: strip it before you publish
    #[arg(long)]
    embed: bool,
}

pub fn lance(args: LanceArgs, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let limits = Policy::default().limits;
    let shown = escape(&args.file.to_string_lossy());
    if let Some(file) = disk::unfinished(&args.file).filter(|_| args.embed) {
        let file = escape(&file.to_string_lossy());
        return Err(Failure(format!(
            "{shown}: another program has it open, or was stopped while it had ({file}); close it first"
        )));
    }
    let bytes =
        disk::read(&args.file, limits.file_bytes).map_err(|e| Failure(format!("{shown}: {e}")))?;
    let (rows, dataset) = match pipeline::materialize(&bytes, &limits, &now) {
        Ok(made) => made,
        Err(pipeline::NotMaterialized::Rejected(findings)) => {
            output::print(&acx_registry::report::human_findings(
                &findings,
                &environment::style(),
            ));
            return Ok(REJECTED);
        }
        Err(pipeline::NotMaterialized::Reason(why)) => {
            output::error(&format!("{shown}: {}\n", escape(&why)));
            return Ok(REJECTED);
        }
    };
    let out = args.out.unwrap_or_else(|| {
        let name = args
            .file
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        let stem = name.strip_suffix(".acx").unwrap_or(&name);
        args.file.with_file_name(format!("{stem}.memories.lance"))
    });
    let shown_out = escape(&out.to_string_lossy());
    // A dataset is swapped in whole, so the folder that is there must be one: nothing else of the user's is replaced.
    let is_ours = match out.symlink_metadata() {
        Err(_) => true,
        Ok(found) => found.is_dir() && lance::is_dataset_or_empty(&out).unwrap_or(false),
    };
    if !is_ours {
        return Err(Failure(format!(
            "{shown_out}: exists and is no Lance dataset; name another folder with --out"
        )));
    }
    lance::write(&dataset, &out)
        .map_err(|e| Failure(format!("{shown_out}: cannot be written: {e}")))?;
    let embedded = if args.embed {
        let embedded = author::embed_dataset(&bytes, &dataset, rows, &now)
            .map_err(|e| Failure(format!("{shown}: {e}")))?;
        disk::replace(&args.file, &embedded.bytes)
            .map_err(|e| Failure(format!("{shown}: cannot be written: {e}")))?;
        Some(embedded)
    } else {
        None
    };
    match global.format {
        Format::Json => output::json(&json!({
            "version": 1,
            "path": out.to_string_lossy(),
            "rows": rows,
            "schema": acx_registry::project::memories::SCHEMA,
            "engine": embed::ENGINE,
            "dim": embed::DIM,
            "digest": dataset.digest(),
            "embedded": embedded.as_ref().map(|e| json!({"romBefore": e.rom_before, "romAfter": e.rom_after})),
        }))?,
        Format::Human => {
            let mut text = format!(
                "materialized a real LanceDB dataset (acx.lance-memory/1): {rows} rows, fixed_size_list<item: float>[{}]\n",
                embed::DIM
            );
            if embedded.is_some() {
                let _ = writeln!(
                    text,
                    "  embedded in cartridge → {}  (SAVE zone, unsigned)",
                    author::DATASET_PLACE
                );
            }
            let _ = writeln!(text, "  standalone dataset    → {shown_out}");
            if let Some(embedded) = embedded {
                let _ = writeln!(text, "rom hash before embed: {}", embedded.rom_before);
                let _ = writeln!(text, "rom hash after  embed: {}", embedded.rom_after);
                let _ = writeln!(
                    text,
                    "hash-equality proof:   EQUAL (ROM intact; SAVE zone changed)"
                );
            }
            output::print(&text);
        }
    }
    Ok(0)
}

/// Search the signed memory of a registry's accepted cartridges, and its documents, by cosine similarity
#[derive(clap::Args)]
pub struct SearchArgs {
    /// What to look for
    query: String,
    #[command(flatten)]
    registry: super::RegistryArg,
    /// Results at the most
    #[arg(short = 'k', default_value_t = 10, value_name = "N")]
    most: usize,
    /// Only of this publisher
    #[arg(long, value_name = "ID")]
    publisher: Option<String>,
    /// Only records with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Threads; 0 = one a processor
    #[arg(long, short, default_value_t = 0, value_name = "N", value_parser = super::threads())]
    jobs: usize,
}

/// What a result is, where it is no cartridge's.
fn kind(kind: ArtifactType) -> &'static str {
    match kind {
        ArtifactType::Agent => "",
        ArtifactType::Workflow => "workflow: ",
        ArtifactType::AgentGraph => "Agent Graph: ",
    }
}

pub fn search(args: SearchArgs, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let root = registry::find_root(&args.registry.registry).map_err(Failure)?;
    let registry = Registry::load(&root, &now)?;
    let query = Query {
        text: &args.query,
        most: args.most,
        publisher: args.publisher.as_deref(),
        tag: args.tag.as_deref(),
    };
    let found = pipeline::search(&registry, &query, &now, args.jobs)?;
    if !global.quiet {
        for path in &found.other_engine {
            output::error(&format!(
                "note: {} is by another embedding engine and was not searched\n",
                escape(path)
            ));
        }
        if found.passed_over > 0 {
            output::error(&format!(
                "note: {} files that the gate does not accept were not searched\n",
                found.passed_over
            ));
        }
    }
    match global.format {
        Format::Json => output::json(&json!({
            "version": 1,
            "query": args.query,
            "engine": embed::ENGINE,
            "compared": found.compared,
            "results": found.hits.iter().map(|hit| json!({
                "score": hit.score,
                "artifactType": hit.coordinate.kind,
                "publisher": hit.coordinate.publisher,
                "id": hit.coordinate.id,
                "version": hit.coordinate.version,
                "path": hit.coordinate.path(),
                "memory": hit.id,
                "title": hit.title,
                "summary": hit.summary,
                "tags": hit.tags,
            })).collect::<Vec<_>>(),
        }))?,
        Format::Human => {
            let mut text = String::new();
            for hit in &found.hits {
                let _ = writeln!(
                    text,
                    "{:.4}  {}  {}{}",
                    hit.score,
                    hit.coordinate,
                    kind(hit.coordinate.kind),
                    escape(&hit.title)
                );
                let _ = writeln!(text, "        {}", escape(&hit.summary));
            }
            if found.hits.is_empty() {
                text.push_str("nothing found\n");
            }
            output::print(&text);
        }
    }
    Ok(0)
}
