//! Reading fields out of a package's JSON, with a [`Problem`] for each that is not of its form.

use super::package::Problem;
use crate::model::json::{member, shown};
use crate::model::{Json, json};

/// Parses a JSON file of the package.
pub(super) fn parse(file: &str, data: &[u8]) -> Result<Json, Problem> {
    json::parse(data).map_err(|e| Problem::new(file, "", format!("expected JSON: {e}")))
}

/// One object of a file under reading; what is wrong is collected.
pub(super) struct Fields<'a> {
    pub file: &'a str,
    /// The JSON pointer to the object.
    pub at: String,
    pub object: &'a serde_json::Map<String, Json>,
    pub problems: &'a mut Vec<Problem>,
}

impl<'a> Fields<'a> {
    /// The field's value, where it is there and not null.
    pub fn get(&self, name: &str) -> Option<&'a Json> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub fn problem(&mut self, name: &str, message: impl Into<String>) {
        let problem = Problem::new(self.file, member(&self.at, name), message);
        self.problems.push(problem);
    }

    pub fn wrong(&mut self, name: &str, expected: &str) {
        let found = self
            .object
            .get(name)
            .map_or_else(|| "none".to_owned(), shown);
        self.problem(name, format!("expected {expected}, found {found}"));
    }

    /// A text of 1 to `most` characters; `None` where there is none.
    pub fn text(&mut self, name: &str, most: usize) -> Option<String> {
        let value = self.get(name)?;
        let good = value
            .as_str()
            .filter(|text| !text.trim().is_empty() && text.chars().nth(most).is_none());
        if good.is_none() {
            self.wrong(name, &format!("a text of 1 to {most} characters"));
        }
        good.map(str::to_owned)
    }

    /// As [`Fields::text`], and a problem where there is none.
    pub fn required(&mut self, name: &str, most: usize) -> String {
        if self.get(name).is_none() {
            self.wrong(name, &format!("a text of 1 to {most} characters"));
        }
        self.text(name, most).unwrap_or_default()
    }

    /// A checked type made from a text.
    pub fn checked<T: std::str::FromStr<Err: std::fmt::Display>>(
        &mut self,
        name: &str,
    ) -> Option<T> {
        let Some(text) = self.get(name)?.as_str() else {
            self.wrong(name, "a text");
            return None;
        };
        match text.parse() {
            Ok(value) => Some(value),
            Err(e) => {
                self.problem(name, e.to_string());
                None
            }
        }
    }

    /// A list of at most `items` texts of 1 to `most` characters.
    pub fn texts(&mut self, name: &str, items: usize, most: usize) -> Option<Vec<String>> {
        let value = self.get(name)?;
        let list: Option<Vec<String>> = value
            .as_array()
            .filter(|list| list.len() <= items)
            .and_then(|list| {
                list.iter()
                    .map(|item| {
                        item.as_str()
                            .filter(|t| !t.trim().is_empty() && t.chars().nth(most).is_none())
                            .map(str::to_owned)
                    })
                    .collect()
            });
        if list.is_none() {
            self.wrong(
                name,
                &format!("a list of at most {items} texts of 1 to {most} characters"),
            );
        }
        list
    }
}
