//! What needs two places of a workflow: ids, references, reachability, cycles. Each in one pass over nodes and edges.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{Issue, at, list, report, text, texts, unique};
use crate::model::{Json, json::canonical, shorten};

pub(super) fn check(value: &Json, issues: &mut Vec<Issue>) {
    let before = issues.len();
    let aliases = unique(value, "participants", "alias", issues);
    let rac = unique(value, "rac", "id", issues);
    let variables = unique(value, "variables", "name", issues);
    let ids = unique(value, "nodes", "id", issues);
    let nodes = list(value, "nodes");
    let edges = list(value, "edges");

    for (place, node) in nodes.iter().enumerate() {
        if text(node, "type") != "task" {
            continue;
        }
        let agent = text(node, "agent");
        if !aliases.contains_key(agent) {
            report(
                issues,
                at("nodes", place, "/agent"),
                format!("no participant has the alias {:?}", shorten(agent)),
            );
        }
        let requires = node.get("requires").unwrap_or(&Json::Null);
        for (item, id) in texts(requires, "rac").enumerate() {
            if !rac.contains_key(id) {
                let pointer = at("nodes", place, &format!("/requires/rac/{item}"));
                report(
                    issues,
                    pointer,
                    format!("no rac item has the id {:?}", shorten(id)),
                );
            }
        }
    }
    let start = text(value, "start");
    if !ids.contains_key(start) {
        report(
            issues,
            "/start".to_owned(),
            format!("no node has the id {start:?}"),
        );
    }
    let starts = nodes
        .iter()
        .enumerate()
        .filter(|(_, n)| text(n, "event") == "start");
    for (nth, (place, node)) in starts.enumerate() {
        if nth > 0 {
            report(
                issues,
                at("nodes", place, ""),
                "expected at most one start event, found another",
            );
        } else if text(node, "id") != start {
            report(
                issues,
                "/start".to_owned(),
                format!(
                    "expected the start event {:?}, found {start:?}",
                    text(node, "id")
                ),
            );
        }
    }

    let mut seen = BTreeSet::new();
    let mut onward: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut leaving: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, edge) in edges.iter().enumerate() {
        let when = edge.get("when");
        let key = canonical(&json!([edge.get("from"), edge.get("to"), when]));
        if !seen.insert(key) {
            report(
                issues,
                at("edges", place, ""),
                "the edge is there twice; remove one",
            );
        }
        let mut ends = Vec::new();
        for end in ["from", "to"] {
            match ids.get(text(edge, end)) {
                Some(node) => ends.push(*node),
                None => report(
                    issues,
                    at("edges", place, &format!("/{end}")),
                    format!("no node has the id {:?}", text(edge, end)),
                ),
            }
        }
        if let [from, to] = *ends {
            if let Some(list) = onward.get_mut(from) {
                list.push(to);
            }
            if let Some(list) = back.get_mut(to) {
                list.push(from);
            }
            leaving.entry(from).or_default().push(place);
        }
        if let Some(when) = when {
            condition(when, at("edges", place, "/when"), &rac, &variables, issues);
        }
    }
    // What follows speaks of the graph as a whole, which broken references leave open.
    if issues.len() > before {
        return;
    }
    let is_terminal = |node: &Json| matches!(text(node, "event"), "end" | "stop");
    let terminals: Vec<usize> = (0..nodes.len())
        .filter(|n| nodes.get(*n).is_some_and(is_terminal))
        .collect();
    if terminals.is_empty() {
        report(
            issues,
            "/nodes".to_owned(),
            "expected at least one end or stop event, found none",
        );
        return;
    }
    for (node, places) in &leaving {
        let Some(node) = nodes.get(*node) else {
            continue;
        };
        if is_terminal(node) {
            for place in places {
                report(
                    issues,
                    at("edges", *place, "/from"),
                    format!(
                        "the {} event {:?} has an edge out of it",
                        text(node, "event"),
                        text(node, "id")
                    ),
                );
            }
        } else if places.len() > 1 && text(node, "type") != "gateway" {
            for place in places
                .iter()
                .filter(|p| edges.get(**p).is_some_and(|e| e.get("when").is_none()))
            {
                report(
                    issues,
                    at("edges", *place, ""),
                    format!(
                        "several edges leave {:?}, which is no gateway, and this one has no `when`",
                        text(node, "id")
                    ),
                );
            }
        }
    }
    let reached = reach(&onward, ids.get(start).copied().into_iter().collect());
    let ending = reach(&back, terminals);
    for (place, node) in nodes.iter().enumerate() {
        let id = text(node, "id");
        if reached.get(place) != Some(&true) {
            report(
                issues,
                at("nodes", place, ""),
                format!("no path from the start reaches {id:?}"),
            );
        } else if ending.get(place) != Some(&true) {
            report(
                issues,
                at("nodes", place, ""),
                format!("no path from {id:?} reaches an end or stop event"),
            );
        }
    }
    let bounded = value.pointer("/limits/maxSteps").is_some();
    if !bounded && has_cycle(&onward, &back) {
        report(
            issues,
            "/limits/maxSteps".to_owned(),
            "the workflow has a cycle and no bound on its steps; add it",
        );
    }
}

/// Which nodes a walk from these comes to.
fn reach(next: &[Vec<usize>], mut open: Vec<usize>) -> Vec<bool> {
    let mut seen = vec![false; next.len()];
    while let Some(node) = open.pop() {
        if let Some(mark) = seen.get_mut(node).filter(|mark| !**mark) {
            *mark = true;
            open.extend(next.get(node).into_iter().flatten());
        }
    }
    seen
}

/// Whether taking away nodes that nothing leads to leaves some.
pub(super) fn has_cycle(onward: &[Vec<usize>], back: &[Vec<usize>]) -> bool {
    let mut waiting: Vec<usize> = back.iter().map(Vec::len).collect();
    let mut free: Vec<usize> = (0..onward.len())
        .filter(|n| waiting.get(*n) == Some(&0))
        .collect();
    let mut taken = 0;
    while let Some(node) = free.pop() {
        taken += 1;
        for to in onward.get(node).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(*to) {
                *count -= 1;
                if *count == 0 {
                    free.push(*to);
                }
            }
        }
    }
    taken < onward.len()
}

fn condition(
    when: &Json,
    pointer: String,
    rac: &BTreeMap<&str, usize>,
    variables: &BTreeMap<&str, usize>,
    issues: &mut Vec<Issue>,
) {
    let mut open = vec![(when, pointer)];
    while let Some((when, pointer)) = open.pop() {
        if let Some(id) = when.get("racAvailable").and_then(Json::as_str)
            && !rac.contains_key(id)
        {
            report(
                issues,
                format!("{pointer}/racAvailable"),
                format!("no rac item has the id {id:?}"),
            );
        }
        if let Some(var) = when.get("var").and_then(Json::as_str) {
            let name = var.split('.').next().unwrap_or_default();
            if !variables.contains_key(name) {
                report(
                    issues,
                    format!("{pointer}/var"),
                    format!("no variable has the name {:?}", shorten(name)),
                );
            }
        }
        for shape in ["all", "any"] {
            for (place, inner) in list(when, shape).iter().enumerate() {
                open.push((inner, format!("{pointer}/{shape}/{place}")));
            }
        }
        if let Some(inner) = when.get("not") {
            open.push((inner, format!("{pointer}/not")));
        }
    }
}
