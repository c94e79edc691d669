//! `cartridge-secret`: a file or record of the cartridge has a private key in it.

use crate::attest::Envelope;
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::secret;

pub static RULE: Rule = Rule {
    code: "cartridge-secret",
    family: Family::Registry,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Public,
    summary: "a file or record of the cartridge has a private key in it",
    what: "Every archive file, memory record, signed statement and metadata value, and the bytes of the file as they stand (deleted content included), for a PEM block of a private key with a body.",
    why: "What is published once cannot be taken back, and keys are looked for by machines.",
    example: "A deployment skill with the `id_rsa` of its author.",
    fix: "Revoke the key, remove it from the agent package, run VACUUM, and publish a new version.",
    since: "0.1.0",
    check: Check::Cartridge(run),
};

fn run(context: &Context<'_>, sink: &mut Sink<'_>) {
    let cartridge = context.cartridge;
    // What was deleted from a database is still in its file until VACUUM, and is published with it.
    report(sink, Place::file(), context.bytes);
    for file in &cartridge.files {
        report(sink, Place::row("sqlar", &file.name), &file.data);
    }
    for row in &cartridge.memory {
        report(sink, Place::row("memory", &row.id), row.payload.as_bytes());
    }
    for row in &cartridge.signatures {
        // The signed statement is in base64, and may say more than it has to.
        if let Ok(envelope) = Envelope::parse(row.envelope.as_bytes()) {
            report(
                sink,
                Place::row("signatures", &row.sig_id),
                &envelope.payload,
            );
        }
    }
    for (key, value) in &cartridge.meta {
        report(sink, Place::row("cartridge", key), value.as_bytes());
    }
}

fn report(sink: &mut Sink<'_>, place: Place, bytes: &[u8]) {
    if let Some(offset) = secret::private_key_block(bytes) {
        sink.report(
            place,
            format!("a PEM block of a private key begins at byte {offset}"),
        );
    }
}
