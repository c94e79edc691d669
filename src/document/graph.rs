//! What needs two places of an Agent Graph: references and the invariants on direction, responses, bindings and
//! convergence.

use std::collections::{BTreeMap, BTreeSet};

use super::workflow::has_cycle;
use super::{Issue, at, list, report, text, texts, unique};
use crate::model::{Json, shorten};

type Ids<'a> = BTreeMap<&'a str, usize>;

/// Every id of the member (a text or a list of texts) is one of these.
fn resolve(
    item: &Json,
    name: &str,
    pointer: &str,
    what: &str,
    ids: &Ids<'_>,
    issues: &mut Vec<Issue>,
) {
    let mut one = |id: &str, pointer: String| {
        if !ids.contains_key(id) {
            report(
                issues,
                pointer,
                format!("no {what} has the id {:?}", shorten(id)),
            );
        }
    };
    match item.get(name) {
        Some(Json::String(id)) => one(id, format!("{pointer}/{name}")),
        _ => {
            for (place, id) in texts(item, name).enumerate() {
                one(id, format!("{pointer}/{name}/{place}"));
            }
        }
    }
}

pub(super) fn check(value: &Json, issues: &mut Vec<Issue>) {
    let before = issues.len();
    let actors = unique(value, "actors", "id", issues);
    let knowledge = unique(value, "knowledge", "id", issues);
    let routes = unique(value, "routes", "id", issues);
    let loops = unique(value, "loops", "id", issues);
    unique(value, "convergence", "id", issues);
    for (place, actor) in list(value, "actors").iter().enumerate() {
        let bound = |name: &str| {
            actor
                .pointer(&format!("/cardinality/{name}"))
                .and_then(Json::as_f64)
        };
        if let (Some(min), Some(max)) = (bound("min"), bound("max"))
            && min > max
        {
            report(
                issues,
                at("actors", place, "/cardinality"),
                format!("min {min} is above max {max}"),
            );
        }
    }
    for (place, item) in list(value, "knowledge").iter().enumerate() {
        let pointer = at("knowledge", place, "");
        for name in ["stewards", "audience"] {
            resolve(item, name, &pointer, "actor", &actors, issues);
        }
    }
    let fanout = value
        .pointer("/limits/maxFanout")
        .and_then(Json::as_f64)
        .unwrap_or_default();
    for (place, route) in list(value, "routes").iter().enumerate() {
        let pointer = at("routes", place, "");
        for (name, what, ids) in [
            ("from", "actor", &actors),
            ("to", "actor", &actors),
            ("carries", "knowledge", &knowledge),
            ("returns", "knowledge", &knowledge),
        ] {
            resolve(route, name, &pointer, what, ids, issues);
        }
        if texts(route, "to").any(|to| to == text(route, "from")) {
            report(
                issues,
                format!("{pointer}/to"),
                "the route leads to its own source",
            );
        }
        let targets = list(route, "to").len();
        if targets as f64 > fanout {
            report(
                issues,
                format!("{pointer}/to"),
                format!("{targets} targets, limits.maxFanout is {fanout}"),
            );
        }
        if let Some(expects) = route.get("expects") {
            resolve(
                expects,
                "via",
                &format!("{pointer}/expects"),
                "route",
                &routes,
                issues,
            );
        }
    }
    for (place, item) in list(value, "loops").iter().enumerate() {
        let pointer = at("loops", place, "");
        for name in ["imports", "exports"] {
            resolve(item, name, &pointer, "knowledge", &knowledge, issues);
        }
        let mut bound = BTreeSet::new();
        for (nth, binding) in list(item, "actorBindings").iter().enumerate() {
            let pointer = format!("{pointer}/actorBindings/{nth}");
            resolve(binding, "actor", &pointer, "actor", &actors, issues);
            for alias in texts(binding, "participants").filter(|alias| !bound.insert(*alias)) {
                report(
                    issues,
                    format!("{pointer}/participants"),
                    format!("the alias {alias:?} is bound a second time"),
                );
            }
        }
    }
    for (place, point) in list(value, "convergence").iter().enumerate() {
        let pointer = at("convergence", place, "");
        resolve(point, "outputs", &pointer, "knowledge", &knowledge, issues);
        for name in ["steward", "contributors"] {
            resolve(point, name, &pointer, "actor", &actors, issues);
        }
        for (nth, input) in list(point, "inputs").iter().enumerate() {
            let pointer = format!("{pointer}/inputs/{nth}");
            resolve(input, "loop", &pointer, "loop", &loops, issues);
            resolve(
                input,
                "knowledge",
                &pointer,
                "knowledge",
                &knowledge,
                issues,
            );
        }
    }
    // What follows reads references as places.
    if issues.len() > before {
        return;
    }
    responses(value, &routes, issues);
    direction(value, &actors, issues);
    convergence(value, &loops, &knowledge, issues);
    idle(value, &actors, &knowledge, issues);
}

fn responses(value: &Json, routes: &Ids<'_>, issues: &mut Vec<Issue>) {
    let all = list(value, "routes");
    let mut targets: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    let mut carried: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for (place, route) in all.iter().enumerate() {
        let Some(expects) = route.get("expects") else {
            continue;
        };
        let Some((at_via, via)) = routes
            .get(text(expects, "via"))
            .and_then(|via| Some((*via, all.get(*via)?)))
        else {
            continue;
        };
        let back = targets
            .entry(at_via)
            .or_insert_with(|| texts(via, "to").collect());
        let leads_back = back.contains(text(route, "from"))
            && texts(route, "to").any(|to| to == text(via, "from"));
        if !leads_back {
            report(
                issues,
                at("routes", place, "/expects/via"),
                "the response does not lead from a target back to the source",
            );
        }
        let carries = carried
            .entry(at_via)
            .or_insert_with(|| texts(via, "carries").collect());
        for id in texts(route, "returns").filter(|id| !carries.contains(id)) {
            report(
                issues,
                at("routes", place, "/returns"),
                format!("the response route does not carry {id:?}"),
            );
        }
    }
}

/// Mandatory direction: for each knowledge module nobody has two masters, and it goes round in no circle. Knowledge that
/// the same routes carry is looked at once.
fn direction(value: &Json, actors: &Ids<'_>, issues: &mut Vec<Issue>) {
    let routes = list(value, "routes");
    let mut carriers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, route) in routes.iter().enumerate() {
        if text(route, "intent") == "direct" && text(route, "obligation") == "must" {
            for id in texts(route, "carries") {
                carriers.entry(id).or_default().push(place);
            }
        }
    }
    let mut groups: BTreeMap<Vec<usize>, &str> = BTreeMap::new();
    for (id, places) in carriers {
        groups.entry(places).or_insert(id);
    }
    let targets: BTreeMap<usize, Vec<usize>> = groups
        .keys()
        .flatten()
        .filter_map(|place| {
            let to = texts(routes.get(*place)?, "to").filter_map(|id| actors.get(id).copied());
            Some((*place, to.collect()))
        })
        .collect();
    for (places, id) in groups {
        let mut master: BTreeMap<usize, usize> = BTreeMap::new();
        let mut conflict = None;
        'routes: for place in &places {
            let source = routes.get(*place).and_then(|r| actors.get(text(r, "from")));
            for target in targets.get(place).into_iter().flatten() {
                let Some(source) = source else { continue };
                if *master.entry(*target).or_insert(*source) != *source {
                    conflict = Some(*place);
                    break 'routes;
                }
            }
        }
        if let Some(place) = conflict {
            report(
                issues,
                at("routes", place, "/to"),
                format!("a target is directed on {id:?} by another source too, both mandatory"),
            );
            continue;
        }
        let mut onward = vec![Vec::new(); if master.len() < 2 { 0 } else { actors.len() }];
        let mut back = onward.clone();
        for (target, source) in &master {
            if let (Some(out), Some(into)) = (onward.get_mut(*source), back.get_mut(*target)) {
                out.push(*target);
                into.push(*source);
            }
        }
        if has_cycle(&onward, &back) {
            let place = places.first().copied().unwrap_or_default();
            report(
                issues,
                at("routes", place, "/carries"),
                format!("mandatory direction on {id:?} goes round in a circle"),
            );
        }
    }
}

fn convergence(value: &Json, loops: &Ids<'_>, knowledge: &Ids<'_>, issues: &mut Vec<Issue>) {
    let routes = list(value, "routes");
    let mut to: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, route) in routes.iter().enumerate() {
        for id in texts(route, "to") {
            to.entry(id).or_default().push(place);
        }
    }
    let mut reaching: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut exported: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (place, point) in list(value, "convergence").iter().enumerate() {
        let pointer = at("convergence", place, "");
        let inputs = list(point, "inputs");
        let distinct: BTreeSet<&str> = inputs.iter().map(|i| text(i, "loop")).collect();
        if distinct.len() < 2 {
            report(
                issues,
                format!("{pointer}/inputs"),
                "expected inputs of at least two loops, found one",
            );
        }
        let steward = text(point, "steward");
        let arriving = reaching.entry(steward).or_insert_with(|| {
            let places = to.get(steward).into_iter().flatten();
            places
                .filter_map(|p| routes.get(*p))
                .flat_map(|route| texts(route, "carries"))
                .collect()
        });
        let mut taken = BTreeSet::new();
        for (nth, input) in inputs.iter().enumerate() {
            let pointer = format!("{pointer}/inputs/{nth}/knowledge");
            let of = text(input, "loop");
            let exports = exported.entry(of).or_insert_with(|| {
                let item = loops.get(of).and_then(|at| list(value, "loops").get(*at));
                item.into_iter()
                    .flat_map(|item| texts(item, "exports"))
                    .collect()
            });
            for id in texts(input, "knowledge") {
                taken.insert(id);
                if !exports.contains(id) {
                    report(
                        issues,
                        pointer.clone(),
                        format!("the loop {of:?} does not export {id:?}"),
                    );
                } else if !arriving.contains(id) {
                    report(
                        issues,
                        pointer.clone(),
                        format!("no route carries {id:?} to the steward {steward:?}"),
                    );
                }
            }
        }
        for id in texts(point, "outputs") {
            let item = knowledge
                .get(id)
                .and_then(|at| list(value, "knowledge").get(*at));
            if taken.contains(id) {
                report(
                    issues,
                    format!("{pointer}/outputs"),
                    format!("{id:?} is an input of the same point"),
                );
            }
            if !item.is_some_and(|item| texts(item, "stewards").any(|s| s == steward)) {
                report(
                    issues,
                    format!("{pointer}/outputs"),
                    format!("the steward {steward:?} does not steward {id:?}"),
                );
            }
        }
    }
}

fn idle(value: &Json, actors: &Ids<'_>, knowledge: &Ids<'_>, issues: &mut Vec<Issue>) {
    let mut busy: BTreeSet<&str> = BTreeSet::new();
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for item in list(value, "knowledge") {
        busy.extend(texts(item, "stewards").chain(texts(item, "audience")));
    }
    for route in list(value, "routes") {
        busy.insert(text(route, "from"));
        busy.extend(texts(route, "to"));
        used.extend(texts(route, "carries").chain(texts(route, "returns")));
    }
    for item in list(value, "loops") {
        busy.extend(list(item, "actorBindings").iter().map(|b| text(b, "actor")));
        used.extend(texts(item, "imports").chain(texts(item, "exports")));
    }
    for point in list(value, "convergence") {
        busy.insert(text(point, "steward"));
        busy.extend(texts(point, "contributors"));
        used.extend(texts(point, "outputs"));
        used.extend(
            list(point, "inputs")
                .iter()
                .flat_map(|i| texts(i, "knowledge")),
        );
    }
    for (id, place) in actors.iter().filter(|(id, _)| !busy.contains(*id)) {
        report(
            issues,
            at("actors", *place, ""),
            format!("the actor {id:?} takes part in nothing"),
        );
    }
    for (id, place) in knowledge.iter().filter(|(id, _)| !used.contains(*id)) {
        report(
            issues,
            at("knowledge", *place, ""),
            format!("the knowledge {id:?} goes nowhere"),
        );
    }
}
