//! In-toto statements.
