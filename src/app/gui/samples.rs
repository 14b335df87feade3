//! A few small files of different kinds that are part of the program, to look around with.

use std::path::PathBuf;

/// Name and bytes of each.
const SAMPLES: [(&str, &[u8]); 8] = [
    ("trips.parquet", include_bytes!("../../../fixtures/showcase/trips.parquet")),
    ("people.csv", include_bytes!("../../../fixtures/showcase/people.csv")),
    ("field.npy", include_bytes!("../../../fixtures/showcase/field.npy")),
    ("volume.npz", include_bytes!("../../../fixtures/showcase/volume.npz")),
    ("climate.nc", include_bytes!("../../../fixtures/showcase/climate.nc")),
    ("egg.nii.gz", include_bytes!("../../../fixtures/showcase/egg.nii.gz")),
    ("weights.safetensors", include_bytes!("../../../fixtures/showcase/weights.safetensors")),
    ("photo.png", include_bytes!("../../../fixtures/showcase/photo.png")),
];

/// Writes them into the user's cache, where they are not there yet; their paths.
///
/// # Errors
/// Where the cache cannot be written.
pub(crate) fn write() -> std::io::Result<Vec<PathBuf>> {
    let cache = directories::ProjectDirs::from("", "", "gander").map(|dirs| dirs.cache_dir().to_owned());
    // Tests must not touch that of whoever runs them.
    let cache = cache.filter(|_| !cfg!(test)).unwrap_or_else(|| std::env::temp_dir().join("gander"));
    let folder = cache.join("samples");
    std::fs::create_dir_all(&folder)?;
    let mut paths = Vec::new();
    for (name, bytes) in SAMPLES {
        let path = folder.join(name);
        if std::fs::metadata(&path).map_or(0, |found| found.len()) != bytes.len() as u64 {
            std::fs::write(&path, bytes)?;
        }
        paths.push(path);
    }
    Ok(paths)
}
