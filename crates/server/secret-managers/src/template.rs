//! Names of secrets with holes: `/concourse/{{.Team}}/{{.Pipeline}}/{{.Secret}}`.

use crate::Asker;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("a template for names of secrets is empty")]
    Empty,
    #[error("the template {template:?} has no `}}}}` after a `{{{{`")]
    Open { template: String },
    #[error(
        "the template {template:?} has {{{{{hole}}}}}, and only {{{{.Team}}}}, {{{{.Pipeline}}}} and \
         {{{{.Secret}}}} are known"
    )]
    Unknown { template: String, hole: String },
    #[error(
        "in the template {template:?} the names of two teams can run into one another: write {{{{.Team}}}} before \
         all other holes and a `/` after it"
    )]
    Mixed { template: String },
}

/// A name that depends on who asks, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Team,
    Pipeline,
    Secret,
}

impl Template {
    pub fn parse(template: &str) -> Result<Self, TemplateError> {
        if template.trim().is_empty() {
            return Err(TemplateError::Empty);
        }
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((text, after)) = rest.split_once("{{") {
            let Some((hole, after)) = after.split_once("}}") else {
                let template = template.to_owned();
                return Err(TemplateError::Open { template });
            };
            parts.push(Part::Text(text.to_owned()));
            parts.push(match hole.trim() {
                ".Team" => Part::Team,
                ".Pipeline" => Part::Pipeline,
                ".Secret" => Part::Secret,
                other => {
                    return Err(TemplateError::Unknown {
                        template: template.to_owned(),
                        hole: other.to_owned(),
                    });
                }
            });
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// Gives the text before the first hole.
    pub(crate) fn beginning(&self) -> &str {
        match self.0.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// Gives what stands before the team's name; `None` if the template has no team. A name that is
    /// made from it cannot be another team's: the team's name is the first that goes in, and a `/`
    /// ends it.
    pub(crate) fn team_folder(&self) -> Result<Option<&str>, TemplateError> {
        if !self.0.contains(&Part::Team) {
            return Ok(None);
        }
        match &self.0[..] {
            [Part::Text(folder), Part::Team, Part::Text(after), ..] if after.starts_with('/') => {
                Ok(Some(folder))
            }
            _ => Err(TemplateError::Mixed {
                template: self.to_string(),
            }),
        }
    }

    /// The name; none if it takes a pipeline and the asker has none.
    pub fn fill(&self, asker: &Asker, secret: &str) -> Option<String> {
        let mut name = String::new();
        for part in &self.0 {
            name.push_str(match part {
                Part::Text(text) => text,
                Part::Team => &asker.team,
                Part::Pipeline => asker.pipeline.as_deref()?,
                Part::Secret => secret,
            });
        }
        Some(name)
    }
}

impl std::fmt::Display for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|part| {
            f.write_str(match part {
                Part::Text(text) => text,
                Part::Team => "{{.Team}}",
                Part::Pipeline => "{{.Pipeline}}",
                Part::Secret => "{{.Secret}}",
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled() {
        let asker = Asker {
            team: "t".to_owned(),
            pipeline: Some("p".to_owned()),
            ..Asker::default()
        };
        let nobody = Asker {
            pipeline: None,
            ..asker.clone()
        };
        for (template, filled, without_pipeline) in [
            ("/{{.Team}}/{{.Pipeline}}/{{.Secret}}", "/t/p/s", None),
            ("/{{ .Team }}/{{.Secret}}", "/t/s", Some("/t/s")),
            ("plain", "plain", Some("plain")),
            ("{{.Secret}}-{{.Secret}}", "s-s", Some("s-s")),
        ] {
            let template = Template::parse(template).unwrap();
            assert_eq!(template.fill(&asker, "s").unwrap(), filled);
            assert_eq!(template.fill(&nobody, "s").as_deref(), without_pipeline);
        }
    }

    #[test]
    fn what_cannot_be_filled_is_told() {
        for (template, words) in [
            ("", "a template for names of secrets is empty"),
            ("a{{b", "the template \"a{{b\" has no `}}` after a `{{`"),
            (
                "{{.Job}}",
                "the template \"{{.Job}}\" has {{.Job}}, and only {{.Team}}, {{.Pipeline}} and {{.Secret}} \
                 are known",
            ),
        ] {
            assert_eq!(Template::parse(template).unwrap_err().to_string(), words);
        }
    }
}
