# The one command surface: people and CI call these, and nothing else. `make` alone lists them.
# The work itself is in dev/; how it fits together is in docs/development.md.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.NOTPARALLEL: # the parts of `test` build on each other, and cargo uses every core by itself

# Everything that is built is kept outside the tree (see dev/lib.sh).
export AIRSIDE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airside
export CARGO_TARGET_DIR ?= $(AIRSIDE_CACHE)/target
export CLUSTER ?= airside

MUSL := x86_64-unknown-linux-musl
# The two programs side by side. Not cargo's own folder: it keeps a dynamic airside-shim there.
BIN := $(CARGO_TARGET_DIR)/dist
NODES ?= 2
FOCUS ?=
FILES ?=
TARGET ?= unpack
PICK ?= today
FUZZ_SECONDS ?= 300
URL ?=
BASE ?=
PAIRS ?= 30
IMAGE ?= airside-image.tar
NODE_IMAGE ?= $(AIRSIDE_CACHE)/node-image.tar

# The tests of crates/tests/scenarios run these programs; the local ones leave the cluster alone.
SCENARIO_ENV = AIRSIDE_BIN=$(BIN)/airside AIRSIDE_FLY="$$(dev/fly)" AIRSIDE_ROOTFS=$(AIRSIDE_CACHE)/rootfs.tar
CLUSTER_ENV = $(SCENARIO_ENV) AIRSIDE_TEST_CLUSTER=1 KUBECONFIG="$$(dev/cluster kubeconfig)"
CLUSTER_RULES = $(CLUSTER_ENV) cargo test -p airside-conformance --test cluster -- --test-threads 2

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install what this machine lacks (Debian packages, Rust's musl target)
	@dev/setup

.PHONY: build
build: ## Build the airside command, and the static shim beside it
	@dev/setup --no-go
	cargo build -p airside-cli
	cargo build -p airside-shim --profile shim --target $(MUSL)
	install -D -m 755 -t $(BIN) $(CARGO_TARGET_DIR)/debug/airside $(CARGO_TARGET_DIR)/$(MUSL)/shim/airside-shim

.PHONY: demo
demo: build ## Run a first pipeline on this machine, then one that commits set off; offline
	$(BIN)/airside run examples/hello.yml
	dev/demo $(BIN)/airside

.PHONY: fmt
fmt: ## Format the sources
	cargo fmt --all

.PHONY: check
check: ## Formatting, lints, links in comments, and the rules of the tree (crates/tests/tidy)
	@dev/setup --no-go
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-A warnings -D rustdoc::broken_intra_doc_links" cargo doc -q --workspace --no-deps --document-private-items
	cargo test -q -p airside-tidy

.PHONY: deny
deny: ## Licences, bans and advisories of dependencies, where cargo-deny is installed
	@if cargo deny --version >/dev/null 2>&1; then cargo deny check; else echo "deny: cargo-deny is not installed; skipped"; fi

.PHONY: test
test: setup check test-unit test-local ## What every change must pass: check, unit tests, fly on the local runtime

.PHONY: test-unit
test-unit: ## Unit and integration tests of each crate
	@dev/setup --no-go
	cargo test --workspace --exclude airside-conformance --exclude airside-scenarios --exclude airside-tidy

.PHONY: test-local
test-local: build rootfs ## fly against a real server, steps on the local runtime; and the rules for runtimes
	$(SCENARIO_ENV) cargo test -p airside-conformance -p airside-scenarios

.PHONY: test-ui
test-ui: build ## Walk through the web UI in a real browser (FILES="build job" picks files of tests/ui)
	@dev/setup --ui
	AIRSIDE_BIN=$(BIN)/airside dev/test-ui $(FILES)

.PHONY: pictures
pictures: build ## Take the pictures of pages that README and docs show anew (docs/pictures)
	@dev/setup --ui
	AIRSIDE_BIN=$(BIN)/airside dev/pictures

.PHONY: test-hostile
test-hostile: build rootfs ## Tests of hostile tenants, steps, strangers and servers, with a limit of 1,024 files
	$(SCENARIO_ENV) dev/test-hostile

.PHONY: test-cluster
test-cluster: build cluster-images ## The same with steps as pods, in short; needs `make cluster` first
	$(CLUSTER_RULES)
	$(CLUSTER_ENV) cargo test -p airside-scenarios --test cluster -- --test-threads 2 path:: agent:: checks:: images:: registry:: get_image:: image_user:: crash:: objects::jobs control::
	$(CLUSTER_ENV) cargo test -p airside-scenarios --test images -- everything::

.PHONY: test-cluster-all
test-cluster-all: old-shims build cluster-images buildah-image ## All of it, with lost pods, nodes and API servers, and more crashes
	$(CLUSTER_RULES)
	$(CLUSTER_ENV) cargo test -p airside-runtime-kubernetes --test 'cluster*' -- --test-threads 2
	AIRSIDE_ROLLOUTS=50 $(CLUSTER_ENV) cargo test -p airside-resource-types --test kubernetes_cluster -- --test-threads 2
	AIRSIDE_BUILDAH=$(AIRSIDE_CACHE)/buildah.tar AIRSIDE_OLD_SHIMS=$(BIN) AIRSIDE_CRASH_BUILDS=$${AIRSIDE_CRASH_BUILDS:-20} $(CLUSTER_ENV) dev/scenarios cluster -- --test-threads 2
	$(SCENARIO_ENV) dev/test-outage
	$(CLUSTER_ENV) dev/scenarios images -- --test-threads 1
	$(SCENARIO_ENV) dev/test-image-disk

.PHONY: test-faults
test-faults: build cluster-images ## One pick of the faults on the running cluster (PICK=today; `dev/test-faults list`)
	$(SCENARIO_ENV) dev/test-faults $(PICK)

.PHONY: test-all
test-all: ## Everything, cluster and deny included, with the minutes each part took
	@dev/test-all

.PHONY: test-crash
test-crash: build ## 100 builds while the server is killed at random
	$(SCENARIO_ENV) AIRSIDE_CRASH_BUILDS=$${AIRSIDE_CRASH_BUILDS:-100} dev/scenarios local crash -- --nocapture

.PHONY: fuzz
fuzz: ## Feed a reader of foreign bytes with anything (TARGET=unpack, FUZZ_SECONDS=300); see fuzz/README.md
	@dev/setup --fuzz
	cargo +nightly fuzz run --target-dir $(CARGO_TARGET_DIR)/fuzz $(TARGET) -- -max_total_time=$(FUZZ_SECONDS)

.PHONY: testflight
testflight: ## Concourse's own suite on a server of its own, or against URL (FOCUS=regex picks specs)
	@dev/setup
	dev/testflight build
	$(MAKE) build rootfs
	FOCUS="$(FOCUS)" AIRSIDE_BIN=$(BIN)/airside AIRSIDE_ROOTFS=$(AIRSIDE_CACHE)/rootfs.tar \
	  dev/testflight $(if $(URL),run "$(URL)",local)

.PHONY: testflight-k8s
testflight-k8s: ## The same with all steps as pods of the running cluster, under the rights that Airside asks for
	@dev/setup
	dev/testflight build
	$(MAKE) cluster-images
	FOCUS="$(FOCUS)" AIRSIDE_BIN=$(BIN)/airside AIRSIDE_ROOTFS=$(AIRSIDE_CACHE)/rootfs.tar dev/testflight cluster

.PHONY: cluster
cluster: ## Start a Kubernetes cluster on this machine (NODES=2, CLUSTER=airside)
	@dev/setup
	dev/cluster up $(NODES)

.PHONY: cluster-images
cluster-images: build rootfs ## Load the images of the shim, the node agent and a small task on every node
	dev/image shim $(BIN)/airside-shim $(AIRSIDE_CACHE)/shim-image.tar
	dev/cluster load-archive $(AIRSIDE_CACHE)/shim-image.tar
	strip -o $(AIRSIDE_CACHE)/airside-stripped $(BIN)/airside
	dev/image airside $(AIRSIDE_CACHE)/airside-stripped $(BIN)/airside-shim $(AIRSIDE_CACHE)/airside-image.tar
	rm $(AIRSIDE_CACHE)/airside-stripped
	dev/cluster load-archive $(AIRSIDE_CACHE)/airside-image.tar
	dev/cluster load airside.local/busybox:dev $(AIRSIDE_CACHE)/rootfs.tar

.PHONY: node-image
node-image: ## The small agent of nodes as an OCI archive, static: airside.local/node:dev (NODE_IMAGE=FILE)
	@dev/setup --no-go
	cargo build -p airside-node-agent --profile shim --target $(MUSL)
	dev/image node $(CARGO_TARGET_DIR)/$(MUSL)/shim/airside-node $(NODE_IMAGE)

.PHONY: old-shims
old-shims: ## Build shims that speak the protocols of earlier servers, for the test of an upgrade
	@dev/setup --no-go
	for spoken in 0 2; do \
	  AIRSIDE_SHIM_PROTOCOL=$$spoken cargo build -p airside-shim --profile shim --target $(MUSL); \
	  install -D -m 755 $(CARGO_TARGET_DIR)/$(MUSL)/shim/airside-shim $(BIN)/old-shim-$$spoken; \
	done

.PHONY: buildah-image
buildah-image: ## Make the root file system in which tests build images, once (some minutes)
	@mkdir -p $(AIRSIDE_CACHE)
	@[[ -e $(AIRSIDE_CACHE)/buildah.tar ]] || { dev/setup --no-go && dev/setup --buildah && dev/image buildah $(AIRSIDE_CACHE)/buildah.tar; }

.PHONY: image
image: ## Airside's own image as an OCI archive (IMAGE=FILE), without a container engine: static programs, CA certificates
	@dev/setup --no-go
	cargo build --release -p airside-cli --target $(MUSL)
	cargo build -p airside-shim --profile shim --target $(MUSL)
	dev/image airside $(CARGO_TARGET_DIR)/$(MUSL)/release/airside $(CARGO_TARGET_DIR)/$(MUSL)/shim/airside-shim $(IMAGE)

.PHONY: cluster-down
cluster-down: ## Stop that cluster and remove what it left
	dev/cluster down

.PHONY: bench-build
bench-build: ## Build the release programs that are measured
	@dev/setup --no-go
	cargo build --release -p airside-cli
	cargo build -p airside-shim --profile shim --target $(MUSL)
	install -D -m 755 -t $(CARGO_TARGET_DIR)/bench $(CARGO_TARGET_DIR)/release/airside $(CARGO_TARGET_DIR)/$(MUSL)/shim/airside-shim

.PHONY: bench
bench: bench-build rootfs ## Measure steps beside runc and, if a cluster is up, beside bare pods
	AIRSIDE_BIN=$(CARGO_TARGET_DIR)/bench/airside bench/run

.PHONY: bench-compare
bench-compare: ## Measure the tree beside an earlier commit, and fail on a step back (BASE=commit, PAIRS=30)
	@[[ -n "$(BASE)" ]] || { echo "bench-compare: name a commit to compare with: make bench-compare BASE=commit" >&2; exit 2; }
	@$(MAKE) bench-build rootfs
	base=$$(dev/bench-base "$(BASE)"); bench/compare.py --a "$$base" --b $(CARGO_TARGET_DIR)/bench/airside --pairs $(PAIRS)

.PHONY: bench-control
bench-control: bench-build ## Measure fly set-pipeline, long lists and idle memory, on SQLite and Postgres
	AIRSIDE_BIN=$(CARGO_TARGET_DIR)/bench/airside AIRSIDE_FLY="$$(dev/fly --real)" bench/control.py

.PHONY: bench-builds
bench-builds: bench-build rootfs ## Measure builds on this machine: a trivial one, logs, artifacts, many at once
	AIRSIDE_BIN=$(CARGO_TARGET_DIR)/bench/airside AIRSIDE_FLY="$$(dev/fly --real)" bench/builds.py

.PHONY: bench-checks
bench-checks: bench-build ## Measure thousands of checks: whether they hold their interval, and what they cost
	AIRSIDE_BIN=$(CARGO_TARGET_DIR)/bench/airside bench/checks.py

.PHONY: bench-pipelines
bench-pipelines: bench-build rootfs ## Measure a job of get, task and put, a chain of jobs, and a push to the build it starts
	AIRSIDE_BIN=$(CARGO_TARGET_DIR)/bench/airside bench/pipelines.py

.PHONY: bench-kube
bench-kube: bench-build rootfs ## Measure steps as pods of the running cluster, beside bare pods; needs `make cluster cluster-images`
	AIRSIDE_BIN=$(CARGO_TARGET_DIR)/bench/airside bench/kube.py

.PHONY: bench-objects
bench-objects: bench-build ## Measure pipelines and builds as objects of the running cluster, and a put of `kubernetes`; needs `make cluster`
	AIRSIDE_BIN=$(CARGO_TARGET_DIR)/bench/airside bench/objects.py

.PHONY: bench-peers
bench-peers: bench-build rootfs ## Measure tasks beside Tekton's; needs `make cluster cluster-images`, and builds Tekton's controller once
	@dev/setup
	dev/cluster controllers-start tekton
	AIRSIDE_BIN=$(CARGO_TARGET_DIR)/bench/airside bench/peers.py

.PHONY: bench-images
bench-images: bench-build rootfs ## Measure images on nodes beside pods that pull; needs a cluster of three nodes (NODES=3 make cluster)
	$(MAKE) node-image NODE_IMAGE=$(AIRSIDE_CACHE)/node-image.tar
	install -m 755 $(CARGO_TARGET_DIR)/$(MUSL)/shim/airside-node $(CARGO_TARGET_DIR)/bench/
	dev/cluster load-archive $(AIRSIDE_CACHE)/node-image.tar
	dev/image airside $(CARGO_TARGET_DIR)/bench/airside $(CARGO_TARGET_DIR)/bench/airside-shim $(AIRSIDE_CACHE)/airside-image.tar
	dev/cluster load-archive $(AIRSIDE_CACHE)/airside-image.tar
	AIRSIDE_ROOTFS=$(AIRSIDE_CACHE)/rootfs.tar AIRSIDE_BIN=$(CARGO_TARGET_DIR)/bench/airside bench/images.py

.PHONY: rootfs
rootfs: ## Make the small root file system that tests use as an image
	@dev/setup --no-go
	@mkdir -p $(AIRSIDE_CACHE)
	dev/image rootfs $(AIRSIDE_CACHE)/rootfs.tar
