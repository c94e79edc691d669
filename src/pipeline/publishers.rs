//! Whose key signs for a publisher. The first accepted artifact of whatever kind pins its key, unless the trust registry
//! lists one for the publisher already, which then signs the first one too; what comes later is signed
//! by a key that is pinned, that the trust registry or the policy lists for the publisher, or that is linked to one of
//! those by rotation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gix::hash::ObjectId;

use super::RunError;
use super::join::Candidate;
use super::judge::{Stage, report};
use crate::check::Place;
use crate::discover::{At, Entry};
use crate::git::{self, GitError, Mode, Objects};
use crate::model::{ArtifactType, Coordinate, KeyId, PublisherId, RegistryPath};
use crate::publish::Published;
use crate::report::Rejected;
use crate::source::Source;

/// Where the keys of before are known from.
pub(super) enum Known<'a> {
    /// From the index before, and from the artifacts that it listed or remembers: keys by publisher, and paths.
    Index(BTreeMap<String, BTreeSet<KeyId>>, BTreeSet<String>),
    /// From the artifacts in the tree before.
    Tree {
        /// The objects.
        objects: &'a Arc<Objects>,
        /// The registry's tree before; none where there was nothing.
        root: Option<ObjectId>,
        /// What was published once, where that was asked for.
        retired: &'a [Published],
    },
}

impl Known<'_> {
    /// Whether a path was there before: then it was accepted then, and its key counts.
    fn has(&self, path: &str) -> Result<bool, RunError> {
        match self {
            Self::Index(_, paths) => Ok(paths.contains(path)),
            Self::Tree { objects, root, .. } => {
                let Some(root) = root else { return Ok(false) };
                let found = git::lookup(objects, root, path).map_err(RunError::from)?;
                Ok(found.is_some())
            }
        }
    }

    /// The keys that a publisher's accepted artifacts of before are signed by; where one is `wanted`, the others need
    /// not be looked for.
    fn keys(
        &self,
        stage: &Stage<'_>,
        publisher: &str,
        wanted: &BTreeSet<KeyId>,
    ) -> Result<BTreeSet<KeyId>, RunError> {
        let (objects, root, retired) = match self {
            Self::Index(keys, _) => return Ok(keys.get(publisher).cloned().unwrap_or_default()),
            Self::Tree { root: None, .. } => return Ok(BTreeSet::new()),
            Self::Tree {
                objects,
                root: Some(root),
                retired,
            } => (objects, root, retired),
        };
        let before = Source::Tree {
            objects: Arc::clone(objects),
            root: *root,
        };
        let mut keys: BTreeSet<KeyId> = retired
            .iter()
            .filter(|p| p.path.split('/').nth(1) == Some(publisher))
            .filter_map(|p| p.keyid.clone())
            .collect();
        let mut bounds = stage.bounds();
        let mut list = |tree: &ObjectId| -> Result<Vec<(String, git::Leaf)>, RunError> {
            let mut found = Vec::new();
            for entry in objects.with(|reader| git::entries(reader, tree))? {
                bounds.step()?;
                if let Ok(name) = str::from_utf8(&entry.name) {
                    found.push((name.to_owned(), entry.leaf));
                }
            }
            // The newest is the likeliest to be signed by the key that signs now, and no folder is entered in vain.
            found.reverse();
            Ok(found)
        };
        for kind in ArtifactType::ALL {
            let folder = format!("{}/{publisher}", kind.folder());
            let Some(tree) =
                git::lookup(objects, root, &folder)?.filter(|leaf| leaf.mode == Mode::Tree)
            else {
                continue;
            };
            for (id, artifact) in list(&tree.id)? {
                if artifact.mode != Mode::Tree {
                    continue;
                }
                for (name, mut leaf) in list(&artifact.id)? {
                    let mut path = format!("{folder}/{id}/{name}");
                    if leaf.mode == Mode::Tree && kind == ArtifactType::Agent {
                        let file = objects
                            .with(|reader| git::entries(reader, &leaf.id))?
                            .into_iter()
                            .find(|entry| entry.name == b"cartridge.acx");
                        let Some(file) = file else { continue };
                        leaf = file.leaf;
                        path.push_str("/cartridge.acx");
                    }
                    let place = RegistryPath::try_from(path.as_str());
                    let Some(path) = place.ok().filter(|p| Coordinate::of_path(p).is_ok()) else {
                        continue;
                    };
                    if leaf.mode != Mode::Blob {
                        continue;
                    }
                    let file = Entry {
                        path,
                        at: At::Blob(leaf.id),
                    };
                    if (stage.expired)() {
                        return Err(GitError::expired().into());
                    }
                    let signer = stage.signer(&before, &file).map_err(RunError::new)?;
                    if let Some((_, key)) = signer {
                        keys.insert(key);
                        if wanted.is_subset(&keys) {
                            return Ok(keys);
                        }
                    }
                }
            }
        }
        Ok(keys)
    }
}

/// Refuses what is signed by a key that is not its publisher's. Gives the waivers that were used.
pub(super) fn refuse_strangers(
    stage: &Stage<'_>,
    known: &Known<'_>,
    accepted: &mut Vec<Candidate>,
    rejected: &mut Vec<Rejected>,
) -> Result<BTreeSet<usize>, RunError> {
    // What is new, by publisher.
    let mut new: BTreeMap<String, BTreeSet<KeyId>> = BTreeMap::new();
    let mut paths = BTreeSet::new();
    for (artifact, _) in accepted.iter() {
        let head = artifact.head();
        if !known.has(head.path)? {
            new.entry(head.publisher.to_owned())
                .or_default()
                .insert(head.keyid.clone());
            paths.insert(head.path.to_owned());
        }
    }
    let mut refused: BTreeMap<(String, KeyId), String> = BTreeMap::new();
    for (publisher, keys) in new {
        let Ok(id) = PublisherId::try_from(publisher.as_str()) else {
            continue;
        };
        let pinned = match stage.registry.policy.publisher_pins.get(&id) {
            Some(pins) => pins.iter().cloned().collect(),
            None => known.keys(stage, &publisher, &keys)?,
        };
        for (key, message) in strangers(stage, &id, &keys, pinned) {
            refused.insert((publisher.clone(), key), message);
        }
    }
    let mut out = Vec::new();
    let mut used = BTreeSet::new();
    accepted.retain_mut(|(artifact, findings)| {
        let head = artifact.head();
        let message = refused
            .get(&(head.publisher.to_owned(), head.keyid.clone()))
            .filter(|_| paths.contains(head.path));
        let Some(message) = message else { return true };
        let policy = &stage.registry.policy;
        let place = match artifact.kind() {
            ArtifactType::Agent => Place::row("signatures", "keyid"),
            _ => Place {
                pointer: Some("/integrity/keyid".to_owned()),
                ..Place::file()
            },
        };
        let mut own = Vec::new();
        report(
            policy,
            "history-publisher-key",
            head.path,
            place,
            message.clone(),
            &mut own,
        );
        used.extend(stage.waive(&mut own));
        let is_error = crate::report::has_error(&own);
        findings.extend(own);
        if is_error {
            out.push(Rejected {
                path: head.path.to_owned(),
                findings: std::mem::take(findings),
            });
        }
        !is_error
    });
    rejected.extend(out);
    Ok(used)
}

/// The keys among `keys` that are not the publisher's, and why.
fn strangers(
    stage: &Stage<'_>,
    publisher: &PublisherId,
    keys: &BTreeSet<KeyId>,
    pinned: BTreeSet<KeyId>,
) -> Vec<(KeyId, String)> {
    let trust = &stage.registry.trust;
    let listed = |key: &KeyId| trust.get(key).is_some_and(|entry| entry.lists(publisher));
    let mut own: BTreeSet<KeyId> = pinned;
    let known_before = own.clone();
    own.extend(keys.iter().filter(|key| listed(key)).cloned());
    if own.is_empty() {
        // Nothing is published yet, and yet the name has an owner: whoever is first is not who it is.
        own.extend(trust.listed(publisher).cloned());
    }
    // Rotation links both ways, and from link to link.
    loop {
        let linked: Vec<KeyId> = keys
            .iter()
            .filter(|key| !own.contains(*key))
            .filter(|key| own.iter().any(|other| trust.rotates(publisher, key, other)))
            .cloned()
            .collect();
        if linked.is_empty() {
            break;
        }
        own.extend(linked);
    }
    let strange: Vec<&KeyId> = keys.iter().filter(|key| !own.contains(*key)).collect();
    let list = |keys: &mut dyn Iterator<Item = &KeyId>| {
        keys.take(4)
            .map(KeyId::as_str)
            .collect::<Vec<_>>()
            .join(" or ")
    };
    if !own.is_empty() {
        let expected = if known_before.is_empty() {
            list(&mut own.iter())
        } else {
            list(&mut known_before.iter())
        };
        return strange
            .into_iter()
            .map(|key| {
                let message = format!("{publisher} signs with {expected}; this is signed by {key}");
                (key.clone(), message)
            })
            .collect();
    }
    // A publisher that nobody knows yet, with several keys that nothing links: any choice would be chance.
    let is_one = |first: &KeyId| {
        let mut reached = BTreeSet::from([first.clone()]);
        loop {
            let more: Vec<KeyId> = keys
                .iter()
                .filter(|key| !reached.contains(*key))
                .filter(|key| {
                    reached
                        .iter()
                        .any(|other| trust.rotates(publisher, key, other))
                })
                .cloned()
                .collect();
            if more.is_empty() {
                return reached.len() == keys.len();
            }
            reached.extend(more);
        }
    };
    if keys.first().is_none_or(is_one) {
        return Vec::new();
    }
    let all = list(&mut keys.iter());
    strange
        .into_iter()
        .map(|key| {
            let message = format!(
                "{publisher} is new here and comes with {} keys that nothing links ({all}): expected one",
                keys.len()
            );
            (key.clone(), message)
        })
        .collect()
}
