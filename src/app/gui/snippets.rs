//! A node as code that loads it: a few lines of Python, a line for a shell.
//!
//! What Python opens is a file, which may lie in an archive or be compressed ([`place`]); how it is loaded
//! tells its format ([`load`]).

mod load;
mod place;
mod raw;

use gander::data::content::Kind;
use gander::data::node::{Node, Value};

use super::target::Target;
use place::File;

/// Text in Python's quotes.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Text for a POSIX shell: as it is where that is safe, else in single quotes.
pub(crate) fn shell_word(text: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(safe) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The command that prints this node.
pub(crate) fn command_line(target: &Target) -> String {
    let command = if target.node.kind() == Kind::Group { "tree" } else { "show" };
    format!("gander {command} {}", shell_word(&target.address()))
}

/// Python that loads this node with the library that its field uses for the format.
pub(crate) fn python(target: &Target) -> String {
    let (source, root) = (&target.document.source, &target.document.root);
    let path = source.path().map_or_else(|| source.name().to_owned(), |path| path.display().to_string());
    if let Some(code) = raw::python(target, &path) {
        return code;
    }
    let mut format = target.document.format.id;
    let mut remark = "";
    if format == "dataset" && !source.is_folder() {
        format = place::by_name(&path).unwrap_or("bytes");
        remark = "# Several files were opened as one table: this is the first of them.\n";
    }
    format!("{remark}{}", code(&path, format, root, &target.path, &target.node))
}

/// Python for the node at `path` of an open file, whose root is `root`.
fn code(file: &str, format: &'static str, root: &Node, path: &str, node: &Node) -> String {
    let file = File::holding(file, format, root, path, node);
    let load = load::load(&file, root, node);
    let before: String = file.before.iter().map(|lines| format!("{lines}\n")).collect();
    before + &load
}

/// The text of an attribute.
fn said<'a>(node: &'a Node, name: &str) -> Option<&'a str> {
    let (_, value) = node.shown_attributes().find(|(known, _)| known == name)?;
    match value {
        Value::Text(text) => Some(text),
        Value::Json(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell_are_quoted_where_they_must_be() {
        assert_eq!(shell_word("a/b.npy"), "a/b.npy");
        assert_eq!(shell_word("it's #1"), "'it'\\''s #1'");
        assert_eq!(shell_word(""), "''");
    }

    /// Python for a node of this label and these attributes.
    fn of(
        file: &str,
        format: &'static str,
        path: &str,
        label: &'static str,
        said: &[(&str, &str)],
    ) -> String {
        let root = Node::new("root", "file");
        let name = path.rsplit('/').next().unwrap_or_default();
        let node =
            said.iter().fold(Node::new(name, label), |node, (name, text)| node.attribute(*name, *text));
        if path.is_empty() {
            code(file, format, &node, path, &node)
        } else {
            code(file, format, &root, path, &node)
        }
    }

    #[test]
    fn every_format_has_its_library() {
        let expected = [
            ("m.safetensors", "safetensors", "a.b", "tensor", "get_tensor(\"a.b\")"),
            ("m.safetensors", "safetensors", "a", "module", "startswith(\"a.\")"),
            ("model", "safetensors_sharded", "a.b", "tensor", "Path(\"model\").glob("),
            ("m-00001-of-00002.safetensors", "safetensors", "a.b", "tensor", ".parent.glob("),
            ("model", "huggingface", "a.b", "tensor", "Path(\"model\").glob("),
            ("model", "huggingface", "merged/a.b", "merged tensor", "merge_and_unload()"),
            ("model", "huggingface", "", "model", "AutoModel.from_pretrained(\"model\")"),
            ("x.tfevents", "tensorboard", "/scalars/loss", "tag", "EventAccumulator(\"x.tfevents\","),
            ("run", "training_run", "", "training run", "EventAccumulator(\"run\","),
            ("f.npz", "npz", "x", "array", "np.load(\"f.npz\")[\"x\"]"),
            ("f.h5", "hdf5", "/a/b", "dataset", "h5py.File(\"f.h5\", \"r\")[\"/a/b\"]"),
            ("f.nc", "netcdf4", "/g/t", "variable", "netCDF4.Dataset(\"f.nc\")[\"g/t\"]"),
            ("f.zarr", "zarr", "/a", "array", "zarr.open(\"f.zarr\", mode=\"r\")[\"a\"]"),
            ("f.n5", "n5", "/a", "dataset", "\"driver\": \"n5\""),
            ("f.nii", "nifti", "", "volume", "nibabel.load(\"f.nii\")"),
            ("f.fits", "fits", "/SCI", "image", "fits.open(\"f.fits\")[\"SCI\"].data"),
            ("f.mat", "mat", "s.x{3}", "double", "[\"s\"][\"x\"][2]"),
            ("f.json", "json", "/a/0", "object", "data[\"a\"][0]"),
            ("f.jsonl", "jsonl", "", "table", "pd.read_json(\"f.jsonl\", lines=True)"),
            ("f.db", "sqlite", "/t", "table", "pd.read_sql("),
            ("f.avro", "avro", "", "file", "fastavro.reader("),
            ("f.orc", "orc", "", "file", "pd.read_orc(\"f.orc\")"),
            ("f.xlsx", "xlsx", "/One", "sheet", "pd.read_excel(\"f.xlsx\", sheet_name=\"One\")"),
            ("t", "delta", "version=3", "version", "DeltaTable(\"t\", version=3)"),
            ("t", "iceberg", "snapshot=7", "snapshot", "scan(snapshot_id=7)"),
            ("f.arrow", "arrow", "", "file", "pa.ipc.open_file("),
            ("f.arrows", "arrow", "", "file", "pa.ipc.open_stream("),
            ("f.png", "png", "", "image", "Image.open(\"f.png\")"),
            ("f.bin", "bytes", "", "file", "open(\"f.bin\", \"rb\").read()"),
        ];
        for (file, format, path, label, part) in expected {
            let code = of(file, format, path, label, &[]);
            assert!(code.contains(part), "{code}\nhas no {part}");
        }
    }

    #[test]
    fn a_csv_is_read_in_its_dialect() {
        let code = |file: &str, said: &[(&str, &str)]| of(file, "csv", "", "table", said);
        let begin = "import pandas as pd\ntable = pd.read_csv(";
        assert_eq!(
            code("a.csv", &[("delimiter", ","), ("quote", "\""), ("header", "yes")]),
            format!("{begin}\"a.csv\")")
        );
        assert_eq!(code("a.tsv", &[]), format!("{begin}\"a.tsv\", sep=\"\\t\")"));
        let told = [("delimiter", ";"), ("quote", "none"), ("header", "no"), ("encoding", "windows-1252")];
        assert_eq!(
            code("a.txt", &told),
            format!("{begin}\"a.txt\", sep=\";\", header=None, quoting=3, encoding=\"cp1252\")")
        );
        let told = [("delimiter", "tab"), ("encoding", "utf-16le, byte order mark")];
        assert_eq!(code("a.csv", &told), format!("{begin}\"a.csv\", sep=\"\\t\", encoding=\"utf-16\")"));
    }

    #[test]
    fn folders_of_tables_are_data_sets() {
        let code = of("f", "dataset", "", "dataset", &[("parts", "2 Parquet files")]);
        assert!(code.contains("ds.dataset(\"f\", format=\"parquet\", partitioning=\"hive\")"), "{code}");
        let code = of("f", "dataset", "/year=1/a.parquet", "file", &[("format", "Parquet")]);
        assert!(code.contains("pq.read_table(\"f/year=1/a.parquet\")"), "{code}");
    }

    #[test]
    fn what_is_packed_is_unpacked_first() {
        // Pandas does it itself.
        let code = of("a.csv.gz", "gzip", "", "table", &[("format", "CSV"), ("delimiter", ";")]);
        assert_eq!(code, "import pandas as pd\ntable = pd.read_csv(\"a.csv.gz\", sep=\";\")");
        let code = of("a.npy.gz", "gzip", "", "array", &[("format", "NumPy array")]);
        assert!(
            code.starts_with("import gzip\n") && code.ends_with("np.load(file, mmap_mode=\"r\")"),
            "{code}"
        );
        let code = of("a.zip", "zip", "d/x.npy", "member", &[("format", "NumPy array")]);
        assert!(code.contains("zipfile.ZipFile(\"a.zip\").extract(\"d/x.npy\", "), "{code}");
        assert!(code.ends_with("np.load(file, mmap_mode=\"r\")"), "{code}");
        // A dataset in a file in an archive; a table in a file that is compressed in a tar.
        let code = of("a.tar", "tar", "d/x.h5/a/b", "dataset", &[]);
        assert!(
            code.contains("== \"d/x.h5\")") && code.contains("h5py.File(file, \"r\")[\"/a/b\"]"),
            "{code}"
        );
        let code = of("a.tar", "tar", "t.tsv.gz", "member", &[("format", "gzip"), ("format", "CSV")]);
        assert!(code.ends_with("pd.read_csv(file, sep=\"\\t\")"), "{code}");
        let code = of("dir", "folder", "/sub/x.parquet", "file", &[("format", "Parquet")]);
        assert_eq!(code, "import pyarrow.parquet as pq\ntable = pq.read_table(\"dir/sub/x.parquet\")");
    }
}
