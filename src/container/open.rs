//! Opening a file.
