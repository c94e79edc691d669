//! Writes the seeds of every target below a folder, one folder a target.

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "corpus".to_owned());
    for (target, name, bytes) in acx_fuzz::targets::seeds() {
        let folder = std::path::Path::new(&folder).join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
