//! A node as code that loads it: a line of Python, a line for a shell.

use gander::content::Kind;

use super::views::Target;

/// Text in Python's quotes.
fn python_string(text: &str) -> String {
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
    let source = &target.document.source;
    let file = source.path().map_or_else(|| source.name().to_owned(), |path| path.display().to_string());
    load(
        target.document.format.id,
        &python_string(&file),
        &python_string(&target.path),
        target.path.is_empty(),
    )
}

fn load(format: &str, file: &str, path: &str, root: bool) -> String {
    match format {
        "parquet" => format!("import pyarrow.parquet as pq\ntable = pq.read_table({file})"),
        "arrow" | "feather" => {
            format!("import pyarrow.feather as feather\ntable = feather.read_table({file})")
        }
        "csv" => format!("import pandas as pd\ntable = pd.read_csv({file})"),
        "tsv" => format!("import pandas as pd\ntable = pd.read_csv({file}, sep=\"\\t\")"),
        "jsonl" => format!("import pandas as pd\ntable = pd.read_json({file}, lines=True)"),
        "npy" => format!("import numpy as np\narray = np.load({file}, mmap_mode=\"r\")"),
        "npz" if root => format!("import numpy as np\narrays = np.load({file})"),
        "npz" => {
            let name = path.replace(".npy\"", "\"");
            format!("import numpy as np\narray = np.load({file})[{name}]")
        }
        "safetensors" if root => {
            format!("from safetensors.torch import load_file\ntensors = load_file({file})")
        }
        "safetensors" => format!(
            "from safetensors import safe_open\nwith safe_open({file}, framework=\"pt\") as f:\n    tensor = f.get_tensor({path})"
        ),
        "image" | "png" | "jpeg" | "tiff" | "gif" | "bmp" | "webp" => {
            format!("from PIL import Image\nimage = Image.open({file})")
        }
        "text" => format!("text = open({file}, encoding=\"utf-8\").read()"),
        _ => format!("data = open({file}, \"rb\").read()"),
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

    #[test]
    fn python_for_a_tensor_names_the_tensor() {
        let code = load("safetensors", "\"m.st\"", "\"a.b\"", false);
        assert!(code.contains("get_tensor(\"a.b\")"), "{code}");
        assert!(load("npz", "\"f.npz\"", "\"x.npy\"", false).ends_with("[\"x\"]"));
    }
}
