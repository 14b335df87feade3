//! The application.

#[cfg(feature = "gui")]
mod gui;

fn main() -> anyhow::Result<()> {
    let files = std::env::args_os().skip(1).map(std::path::PathBuf::from).collect();
    #[cfg(feature = "gui")]
    gui::run(files, gui::Options::default())?;
    Ok(())
}
