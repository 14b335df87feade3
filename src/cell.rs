//! Values as text, exactly (CLI.md, *A value as text*): cells of Arrow arrays and elements of arrays.
