# Everything that people and CI do with Gatehouse. The work is done by the scripts under tools.

.DEFAULT_GOAL := help
.PHONY: help run up down walkthrough prometheus test test-faults test-overload test-threads test-fuzz test-alerts test-examples test-api test-compose test-operator test-console screenshots test-change test-restore doctor simulate coverage lint docs sbom images bench bench-gateway bench-scale bench-flood bench-timing profile

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | awk -F'\t' '{ printf "make %-13s %s\n", $$1, $$2 }'
	@echo
	@echo "GATEHOUSE_PORT_BASE=9080 moves all ports; every setting of a service can stand in front as well:"
	@echo "TOKENS_ACCESS_TOKEN_LIFETIME=60 make up"

run: ## build, start everything, print commands to try it with; Ctrl-C stops it
	@tools/run.sh

up: ## the same in the background; again: start what is missing
	@tools/up.sh

down: ## stop everything; the data under .local stays
	@tools/down.sh

walkthrough: ## run the commands that `make run` prints, against the system of `make up`, which it starts if need be
	@tools/walkthrough.sh

doctor: ## check the system of `make up` (started if needed) and print remedies
	@tools/doctor.sh

prometheus: ## Prometheus with Gatehouse's alerts, against the system of `make up`, started if need be; Ctrl-C stops it
	@tools/prometheus.sh

test: ## every test, with a PostgreSQL and a Redis of its own
	@tools/test.sh $(TEST_OPTIONS)

test-faults: ## clients refresh and pushes are sent while processes, stores and links fail; then links drop packets. As root
	@GATEHOUSE_FAULT_SECONDS=$${GATEHOUSE_FAULT_SECONDS:-120} GATEHOUSE_FAULT_CLIENTS=$${GATEHOUSE_FAULT_CLIENTS:-300} \
		GATEHOUSE_PUSH_SECONDS=$${GATEHOUSE_PUSH_SECONDS:-300} tools/test.sh --filter "RefreshFaultTests|PushFaultTests"
	@tools/test-links.sh

test-overload: ## load the gateway with three times its capacity for two minutes, and bodies of a gigabyte
	@GATEHOUSE_OVERLOAD_SECONDS=$${GATEHOUSE_OVERLOAD_SECONDS:-120} \
		GATEHOUSE_TRANSFER_MEGABYTES=$${GATEHOUSE_TRANSFER_MEGABYTES:-1024} \
		tools/test.sh --filter "OverloadTests|TransferTests"

test-threads: ## drivers, pools, tokens' feed and the gateway under the thread sanitizer
	@tools/test.sh --threads

test-fuzz: ## libFuzzer against the gateway's parsers and the requests to the services, a minute each; GATEHOUSE_FUZZ_SECONDS=3600 for longer
	@tools/test-fuzz.sh

test-alerts: ## every alert fires when it should, and not when it should not
	@tools/test-alerts.sh

test-compose: ## docker-compose.yml with Podman, from images that `make images` makes where they are missing. As root
	@tools/test-compose.sh

test-examples: ## generate a service from deploy/examples/new-service, run its tests, and call it through the gateway
	@tools/test-examples.sh

test-api: ## the descriptions in docs/openapi, their examples and generated clients against a system; GATEHOUSE_API_SECONDS=60
	@tools/test-api.sh

test-operator: ## the operator's page and /docs in a headless Chromium
	@tools/test-browser.sh operator_page

test-console: ## the operators' console in a headless Chromium, with a keyboard
	@tools/test-browser.sh console

screenshots: ## the pictures of the console and the operator's page, taken anew for docs/images
	@GATEHOUSE_SCREENSHOTS=docs/images tools/test-browser.sh console operator_page

test-change: ## the changes of docs/operations/upgrade.md and keys.md under load, and the requests that failed; two versions side by side
	@tools/test-change.sh

test-restore: ## back up and restore a million sessions: no ended session revives, none forks
	@tools/test-restore.sh

simulate: ## thirty days of 10,000 devices that lose responses, 100 thieves, 1,000 apps, and attackers who ask for codes
	@GATEHOUSE_SIMULATED_DEVICES=$${GATEHOUSE_SIMULATED_DEVICES:-10000} \
		GATEHOUSE_SIMULATED_APPS=$${GATEHOUSE_SIMULATED_APPS:-1000} \
		GATEHOUSE_SIMULATED_DAYS=$${GATEHOUSE_SIMULATED_DAYS:-30} \
		tools/test.sh --filter "RotationSimulationTests|AppSimulationTests|CodeAttackSimulationTests"

coverage: ## every test in a build that counts lines: which of Services and Shared they ran, and enough of each
	@$(MAKE) --no-print-directory test TEST_OPTIONS=--coverage

lint: ## every check of .pre-commit-config.yaml: format, imports, scripts, manifests, OpenAPI, alerts, links
	@tools/lint.sh

docs: ## the manual as a site with search, and the client library's documentation, under .local/docs; a warning is an error
	@tools/docs.sh

images: ## as root: build the images of deploy/Dockerfile without Docker, and check their labels, user and version
	@tools/images.sh

sbom: ## a bill of materials of the Swift packages, under .local/sbom
	@tools/sbom.sh

bench: ## operations per second and CPU time per operation
	@tools/bench.sh

bench-gateway: ## the gateway beside Envoy and HAProxy, each alone on one core
	@tools/bench-gateway.sh

bench-scale: ## a refresh among 100 thousand and 10 million sessions, a push among as many registrations; rotations
	@tools/bench.sh --only scale --sessions $${GATEHOUSE_SCALE_SESSIONS:-10000000} \
		--rotations $${GATEHOUSE_SCALE_ROTATIONS:-1000000}
	@tools/bench.sh --only push-scale --registrations $${GATEHOUSE_SCALE_REGISTRATIONS:-10000000}

bench-flood: ## refreshes and health beside 120 clients that try wrong passwords, and without them, in turn
	@tools/bench.sh --only flood

bench-timing: ## measure whether response time reveals which accounts exist: GATEHOUSE_TIMING_TRIES=10000 of each kind
	@tools/bench.sh --only timing --tries $${GATEHOUSE_TIMING_TRIES:-10000}

profile: ## perf's report of tokens while clients refresh; GATEHOUSE_PROFILE=gateway for another service
	@tools/profile.sh $${GATEHOUSE_PROFILE:-tokens}
