# Everything here runs with Go, git and make alone: tools come from tools/go.mod, by version.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
export CGO_ENABLED = 0

module := homecluster.dev/autoscaler
tool   := go tool -modfile=$(CURDIR)/tools/go.mod
stage  := hack/stage
# Of all that Prometheus can discover, its rule tests need nothing: without that the tool builds in a fraction of the time.
promtool := env GOFLAGS=-tags=remove_all_sd go tool -modfile=$(CURDIR)/tools/promtool/go.mod promtool
promql   := env GOFLAGS=-tags=remove_all_sd go -C tools/promtool test .

# What make generate writes: make verify compares it before and after, and CI with what is committed.
export GENERATED := api/v2alpha1/zz_generated.deepcopy.go config/crd/bases config/rbac/role.yaml config/rbac/observer proto/externalgrpc \
	docs/lifecycle.md docs/reference charts/homelab-autoscaler/templates/crd \
	charts/homelab-autoscaler/templates/admission charts/homelab-autoscaler/templates/_rights.tpl \
	charts/homelab-autoscaler/files \
	monitoring/dashboard.json

.PHONY: help
help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: ## Show a pool go 0 -> 2 -> 0 on a real control plane and simulated machines; ARGS=--help says what else
	cd sandbox && go run ./cmd/sandbox demo $(ARGS)

.PHONY: test
test: verify unit alerts-test image-test image sandbox-test ## Run everything that CI runs but make docs, which needs npm

.PHONY: unit
unit: ## Run the tests of the main module, which need nothing and are fast
	$(stage) unit go test -timeout 10m ./...

# The same tests are part of make test; here they are played anew, and say at the end what they proved.
.PHONY: prove
prove: ## Prove the claim's life: states, histories, mutants, replays on an API server; FULL=1 adds millions of states, crash points
	hack/prove $(if $(FULL),full)

.PHONY: alerts-test
alerts-test: ## Check the alert rules, and play when each fires and clears; check the dashboard and its queries
	$(stage) alerts-test $(promtool) test rules monitoring/alerts_test.yaml
	$(stage) queries-test $(promql)
	$(stage) dashboard-test go -C tools/dashboard test .

# The first test that needs a control plane builds it, once for this machine: hence the time.
.PHONY: sandbox-test
sandbox-test: ## Run the tests against a real API server
	$(stage) sandbox-test env -C sandbox go test -timeout 60m ./...

.PHONY: test-kubelet
test-kubelet: ## Run power as a real container, by a kubelet, which is built, and containerd; wants root and Debian; no part of make test
	hack/test-kubelet

# The one thing here that wants more than Go, git and make: docs/adr/0007 says why.
.PHONY: docs
docs: ## Build the documentation as a site into dist/site, with node and npm; a link that leads nowhere ends it
	$(stage) docs-tool npm --prefix tools/site ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(stage) docs npm --prefix tools/site run --silent build

.PHONY: bench
bench: ## Measure every call of the provider at 10 to 10,000 slots, reconciles and calls beside hung switches, and what reading switches costs; BENCHTIME=1s measures longer
	go test ./internal/provider -run '^$$' -bench BenchmarkCalls -benchtime $(or $(BENCHTIME),100ms) | go run ./hack/bench
	go test ./internal/observer -run '^$$' -bench BenchmarkPoll -benchtime $(or $(BENCHTIME),1s)
	cd sandbox && go test ./observe -run '^$$' -bench BenchmarkBesideHungSwitches -benchtime 1x -timeout 30m

.PHONY: verify
verify: ## Check that what is generated is up to date, formatting, lint and tidy modules
	$(stage) verify-generated hack/verify-generated
	$(stage) verify-format hack/verify-format
	$(stage) verify-tidy hack/verify-tidy
	$(stage) lint $(MAKE) --no-print-directory lint

.PHONY: lint
lint: ## Lint every module that has code, go vet included, and the protocol
	$(tool) golangci-lint run ./...
	cd sandbox && $(tool) golangci-lint run ./...
	cd tools/image && $(tool) golangci-lint run ./...
	cd tools/promtool && $(tool) golangci-lint run --build-tags=remove_all_sd ./...
	cd tools/dashboard && $(tool) golangci-lint run --disable=staticcheck ./... # whose builders are deprecated, and used on purpose
	$(tool) buf lint

.PHONY: fmt
fmt: ## Format the sources
	gofmt -w .

.PHONY: generate
generate: ## Write deepcopy functions, CRDs, RBAC, their copies in the chart, the protocol's Go code and the generated docs
	rm -f config/crd/bases/*.yaml
	$(tool) controller-gen object crd paths=./api/... output:crd:dir=config/crd/bases
	go run ./hack/crd
	$(tool) controller-gen rbac:roleName=homelab-autoscaler paths=./internal/manager/... output:rbac:dir=config/rbac
	$(tool) controller-gen rbac:roleName=homelab-autoscaler-power-observer paths=./internal/observer/... output:rbac:dir=config/rbac/observer
	$(tool) buf generate
	go run ./hack/lifecycle
	go run ./hack/reference
	go -C tools/dashboard run . >monitoring/dashboard.json
	go run ./hack/chart

.PHONY: build
build: ## Build the manager, power, the power observer and the kubectl plugin into bin, static, with the version that git knows, or VERSION=...
	go build -trimpath -buildvcs=auto -ldflags '-s -w -X $(module)/internal/manager.version=$(VERSION)' -o bin/ ./cmd/...

.PHONY: plugin-archives
plugin-archives: ## Pack the kubectl plugin for krew into dist/plugin; VERSION=v1.2.3 URL=https://where/they/will/be
	go run ./hack/plugin -version='$(VERSION)' -url='$(URL)'

# Any Go with the same version makes the same bytes. TAG is the version, by default the chart's.
.PHONY: image
image: ## Build the container images for amd64 and arm64 into dist, without a daemon; PUSH=registry/path pushes them; TAG=...
	$(stage) image go -C tools/image run . -out ../../dist $(if $(PUSH),-push $(PUSH)) $(if $(TAG),-tag $(TAG))

.PHONY: image-test
image-test: ## Check how images are put together, pushed and pulled
	$(stage) image-test go -C tools/image test ./...

.PHONY: manifests
manifests: ## Write dist/install.yaml, plain manifests of what the chart installs, private keys included; ARGS="--values=..." changes them
	hack/manifests dist/install.yaml $(ARGS)

.PHONY: clean
clean: ## Remove what was built here; what is cached for all checkouts stays
	rm -rf bin dist
