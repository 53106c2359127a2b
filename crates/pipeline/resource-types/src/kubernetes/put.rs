//! `put`: applies manifests and waits until their objects are done.

use std::{
    io::Write,
    path::Path,
    sync::mpsc::{Receiver, SyncSender},
    thread,
    time::{Duration, Instant},
};

use airside_model::{MetadataField, chain};
use airside_object_status::{ObjectVerdict, StatusRules};

use super::{
    abort::AbortGuard,
    access::ClusterAccess,
    api::{ApiCall, ApiClient},
    apply::{AppliedObject, Applier},
    discovery::Discovery,
    follow::Follower,
    kinds::{ObjectAddress, ObjectKind, Resource},
    manifests::{self, Document},
    names::{generated_from, text},
    prune,
    review::NeededRights,
    settings::{ObjectChoice, PutParams, Source},
    version::{part, result_of, version_of},
    wait::{AwaitedObject, WaitEvent, Waiter, channel},
};
use crate::{Failure, OutRequest, Produced};

/// Time for the API server to serve a kind whose definition is established.
const DEFINITION_LAG: Duration = Duration::from_secs(30);
const DEFINITION_PAUSE: Duration = Duration::from_millis(250);

pub(crate) fn push(
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source)?;
    let params = PutParams::read(request.params)?;
    let documents = documents(&source, &params, src)?;
    let access = ClusterAccess::new(&source.credentials)?;
    let client = ApiClient::new(&access)?;
    let (sender, receiver) = channel();
    let guard = params
        .delete_on_abort
        .then(|| AbortGuard::start(&access, sender.clone()))
        .transpose()?;
    let namespace = source.namespace.as_ref().or(access.namespace.as_ref());
    let put = Put {
        namespace: namespace.map_or_else(|| "default".to_owned(), Clone::clone),
        begun: Instant::now(),
        source,
        params,
        access: &access,
        client: &client,
        guard,
        sender,
        receiver,
    };
    put.run(documents, log)
}

/// Reads the documents, and writes into them what the params say.
fn documents(source: &Source, params: &PutParams, src: &Path) -> Result<Vec<Document>, Failure> {
    let mut documents = manifests::read(&params.manifests, src)?;
    let mut has_main = false;
    for document in &mut documents {
        if let Some(choice) = &params.prune {
            prune::label(document, choice);
        }
        if !is_main(source, document) {
            continue;
        }
        has_main = true;
        for (path, value) in &params.set {
            let written = path.write(&mut document.body, value.clone());
            written.map_err(|error| {
                Failure::params(
                    "set",
                    format!("cannot be done: {}: {}", document.place, chain(&error)),
                )
            })?;
        }
    }
    let is_named = matches!(source.choice, ObjectChoice::Named(_));
    if documents.is_empty() && !is_named {
        return Err(Failure::params(
            "manifests",
            "are missing: give files, or the source the name of an object to wait for",
        ));
    }
    if !documents.is_empty() && !has_main {
        let words = format!("have no {} that the source means", source.kind);
        return Err(Failure::params("manifests", words));
    }
    // The sort is stable: otherwise the order of the files is kept.
    documents.sort_by_key(|document| !document.goes_first());
    Ok(documents)
}

/// Returns true if a document is an object that the resource is about.
fn is_main(source: &Source, document: &Document) -> bool {
    let is_called = match &source.choice {
        ObjectChoice::Named(name) => document.name().is_none_or(|found| found == name),
        ObjectChoice::Selected(_) | ObjectChoice::Any => true,
    };
    is_called && document.kind.is_same_kind(&source.kind)
}

struct Put<'a> {
    source: Source,
    params: PutParams,
    namespace: String,
    access: &'a ClusterAccess,
    client: &'a ApiClient,
    guard: Option<AbortGuard>,
    sender: SyncSender<WaitEvent>,
    receiver: Receiver<WaitEvent>,
    begun: Instant,
}

impl Put<'_> {
    fn run(&self, documents: Vec<Document>, log: &mut dyn Write) -> Result<Produced, Failure> {
        let mut discovery = Discovery::default();
        if documents.is_empty() {
            let object = self.object_to_wait_for(&mut discovery)?;
            let done = self.wait(vec![(object, true)], log)?;
            return self.produced(&done[0]);
        }
        self.review(&documents, &mut discovery)?;
        let first = documents
            .iter()
            .take_while(|document| document.goes_first())
            .count();
        let (first, rest) = documents.split_at(first);
        let mut applied = Vec::new();
        let mut main = None;
        for phase in [first, rest] {
            let objects = self.apply(phase, &mut discovery, log)?;
            applied.extend(objects.iter().map(|(object, _)| object.clone()));
            let is_main: Vec<bool> = objects.iter().map(|(_, is_main)| *is_main).collect();
            let done = self.wait(objects, log)?;
            let found = done
                .into_iter()
                .zip(is_main)
                .filter(|(_, is_main)| *is_main);
            main = found.map(|(object, _)| object).next_back().or(main);
        }
        if let Some(choice) = &self.params.prune {
            prune::prune(
                self.client,
                &mut discovery,
                choice,
                &applied,
                &self.namespace,
                log,
            )?;
        }
        let main = main.ok_or_else(|| Failure::said("no object of the source was applied"))?;
        self.produced(&main)
    }

    /// Asks for the rights that all documents need, as far as their kinds are known already.
    fn review(&self, documents: &[Document], discovery: &mut Discovery) -> Result<(), Failure> {
        let mut rights = NeededRights::default();
        for document in documents {
            let Some(resource) = self.find(discovery, &document.kind)? else {
                if documents.iter().any(|other| other.defines(&document.kind)) {
                    continue;
                }
                return Err(unknown(document));
            };
            self.add_rights(document, &resource, &mut rights);
        }
        if let Some(choice) = &self.params.prune {
            for kind in &choice.kinds {
                if let Some(resource) = self.find(discovery, kind)? {
                    rights.add(&["list", "delete"], &resource, &self.namespace, "");
                }
            }
        }
        rights.review(self.client)
    }

    fn add_rights(&self, document: &Document, resource: &Resource, rights: &mut NeededRights) {
        let namespace = document.namespace().unwrap_or(&self.namespace);
        rights.add(&["create"], resource, namespace, "");
        let name = document.name().unwrap_or_default();
        let is_named = generated_from(&document.body).is_none();
        let verbs: &[&'static str] = match (is_named, resource.has_status) {
            (true, true) => &["get", "patch", "watch"],
            (true, false) => &["patch"],
            (false, _) => &["get", "watch"],
        };
        rights.add(verbs, resource, namespace, name);
        if self.params.delete_on_abort {
            rights.add(&["delete"], resource, namespace, name);
        }
    }

    fn find(
        &self,
        discovery: &mut Discovery,
        kind: &ObjectKind,
    ) -> Result<Option<Resource>, Failure> {
        let applier = self.applier();
        let found = applier.persist(&mut std::io::sink(), || discovery.find(self.client, kind));
        found.map_err(|error| error.into_failure(&format!("ask which kinds {} has", kind.base())))
    }

    fn applier(&self) -> Applier<'_> {
        Applier {
            client: self.client,
            force: self.params.force_conflicts,
            deadline: airside_model::deadline_after(self.begun, self.params.timeout),
        }
    }

    fn apply(
        &self,
        documents: &[Document],
        discovery: &mut Discovery,
        log: &mut dyn Write,
    ) -> Result<Vec<(AppliedObject, bool)>, Failure> {
        let applier = self.applier();
        let mut applied = Vec::new();
        for document in documents {
            let resource = self.find_defined(discovery, document)?;
            let namespace = document.namespace().unwrap_or(&self.namespace);
            let object = applier.apply(document, &resource, namespace, log)?;
            if let Some(guard) = &self.guard {
                guard.add(&object)?;
            }
            applied.push((object, is_main(&self.source, document)));
        }
        Ok(applied)
    }

    /// Finds a kind whose definition may just have been established.
    fn find_defined(
        &self,
        discovery: &mut Discovery,
        document: &Document,
    ) -> Result<Resource, Failure> {
        let begun = Instant::now();
        loop {
            match self.find(discovery, &document.kind)? {
                Some(resource) => return Ok(resource),
                None if begun.elapsed() < DEFINITION_LAG => thread::sleep(DEFINITION_PAUSE),
                None => return Err(unknown(document)),
            }
        }
    }

    fn object_to_wait_for(&self, discovery: &mut Discovery) -> Result<AppliedObject, Failure> {
        let (ObjectChoice::Named(name), kind) = (&self.source.choice, &self.source.kind) else {
            return Err(Failure::source(
                "name",
                "is missing: there is no object to wait for",
            ));
        };
        let resource = self.find(discovery, kind)?;
        let resource = resource.ok_or_else(|| {
            Failure::source(
                "kind",
                format!("is {kind}, which the cluster does not know"),
            )
        })?;
        let address = ObjectAddress {
            resource,
            namespace: self.namespace.clone(),
            name: name.clone(),
        };
        let mut rights = NeededRights::default();
        rights.add_address(&["get", "watch"], &address);
        rights.review(self.client)?;
        let object = self.client.call(&address.path(), ApiCall::Get);
        let object = object.map_err(|error| error.into_failure(&format!("get {address}")))?;
        let is_new = false;
        Ok(AppliedObject {
            address,
            object,
            is_new,
        })
    }

    /// Waits for the objects of a phase; the last one of the source is followed.
    fn wait(
        &self,
        objects: Vec<(AppliedObject, bool)>,
        log: &mut dyn Write,
    ) -> Result<Vec<AwaitedObject>, Failure> {
        let followed = objects.iter().rev().find(|(_, is_main)| *is_main);
        let followed = followed.map(|(object, _)| object.clone());
        let mut awaited: Vec<AwaitedObject> = objects
            .into_iter()
            .map(|(object, is_main)| AwaitedObject::new(object, self.rules(is_main)))
            .collect();
        let is_over = |object: &AwaitedObject| matches!(object.verdict, ObjectVerdict::Done { .. });
        let mut follower = match followed {
            Some(object) if !awaited.iter().all(is_over) => {
                Follower::start(self.client, &object, &self.params.follow, &self.sender)?
            }
            _ => None,
        };
        let waiter = Waiter {
            access: self.access,
            sender: &self.sender,
            receiver: &self.receiver,
            begun: self.begun,
            timeout: self.params.timeout,
        };
        waiter.wait(&mut awaited, follower.as_mut(), log)?;
        Ok(awaited)
    }

    fn rules(&self, is_main: bool) -> StatusRules {
        if !is_main {
            return StatusRules::default();
        }
        let (tests, params) = (&self.source.tests, &self.params);
        StatusRules {
            until: params.until.clone().unwrap_or_else(|| tests.until.clone()),
            fail: params.fail.clone().unwrap_or_else(|| tests.fail.clone()),
            ignore_generation: params.ignore_generation.unwrap_or(tests.ignore_generation),
            ..StatusRules::default()
        }
    }

    fn produced(&self, done: &AwaitedObject) -> Result<Produced, Failure> {
        let (address, object) = (&done.address, &done.object);
        let by_source = result_of(&self.source, object, address.resource.has_status);
        let result = by_source.unwrap_or_else(|| match &done.verdict {
            ObjectVerdict::Done { reason } => reason.clone(),
            other => other.to_string(),
        });
        let version = version_of(&self.source, object, &result).map_err(|path| {
            let words =
                format!("names {path}, and {address} is done without it: add it to `until`");
            Failure::source("version", words)
        })?;
        let field = |name: &str, value: String| MetadataField {
            name: name.to_owned(),
            value,
        };
        let generation = object.pointer("/metadata/generation").map(part);
        let mut metadata = vec![
            field("object", address.to_string()),
            field("result", result),
            field("uid", text(object, "/metadata/uid").to_owned()),
        ];
        metadata.extend(generation.map(|generation| field("generation", generation)));
        Ok(Produced { version, metadata })
    }
}

fn unknown(document: &Document) -> Failure {
    let (place, kind) = (&document.place, &document.kind);
    Failure::said(format!(
        "{place}: the cluster does not know the kind {kind}; is its definition there?"
    ))
}
