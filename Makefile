# Everything on a fresh Debian or Ubuntu with a Rust toolchain:
#   make run [FILE=…]   builds and opens the window (without FILE on fixtures/showcase)
#   make test           builds and runs all tests
# Both install what is missing first. Plain `cargo build` works too once the packages are there.

SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# program or file that shows a package is there : package
NEEDS := /usr/bin/cc:gcc /usr/bin/g++:g++ /usr/bin/make:make /usr/bin/Xvfb:xvfb /usr/bin/xauth:xauth \
         /usr/share/vulkan/icd.d:mesa-vulkan-drivers /usr/lib/x86_64-linux-gnu/dri:libgl1-mesa-dri \
         /usr/lib/x86_64-linux-gnu/libEGL.so.1:libegl1 /usr/lib/x86_64-linux-gnu/libGL.so.1:libgl1 \
         /usr/lib/x86_64-linux-gnu/libxkbcommon-x11.so.0:libxkbcommon-x11-0 \
         /usr/lib/x86_64-linux-gnu/libXcursor.so.1:libxcursor1 /usr/lib/x86_64-linux-gnu/libXi.so.6:libxi6 \
         /usr/lib/x86_64-linux-gnu/libXrandr.so.2:libxrandr2 \
         /usr/bin/pkg-config:pkg-config /usr/include/alsa/asoundlib.h:libasound2-dev

# libhdf5 is built by CMake, 3.26 or newer; where the system has none, it comes from PyPI.
NEW_CMAKE := $(shell v=$$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p'); \
               [ -n "$$v" ] && [ "$$(printf '3.26\n%s\n' "$$v" | sort -V | head -n 1)" = 3.26 ] && echo cmake)
ifeq ($(NEW_CMAKE),)
  OWN_CMAKE := $(CURDIR)/.venv-build/bin/cmake
  export CMAKE := $(OWN_CMAKE)
endif

.PHONY: run test packages tools

packages:
	@missing=""; for need in $(NEEDS); do [ -e "$${need%%:*}" ] || missing="$$missing $${need##*:}"; done; \
	[ -z "$(OWN_CMAKE)" ] || [ -e "$(OWN_CMAKE)" ] || python3 -c "import ensurepip" 2>/dev/null || missing="$$missing python3-venv"; \
	if [ -n "$$missing" ]; then \
	  if command -v apt-get >/dev/null; then echo "installing:$$missing"; \
	    $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	  else echo "please install:$$missing"; fi; fi

tools: packages $(OWN_CMAKE)

$(CURDIR)/.venv-build/bin/cmake:
	python3 -m venv .venv-build
	.venv-build/bin/pip install --quiet 'cmake>=3.26,<4'

# LINTED: what stands before the tests' build, which may be compiled by clippy. LEAN: further words for the build without
# the window.
test: tools
	$(LINTED) cargo test
	cargo build --no-default-features $(LEAN)

run: tools
	cargo build --release
	@files="$(or $(FILE),fixtures/showcase)"; \
	if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ]; then exec target/release/gander $$files; fi; \
	echo "There is no display here: the window is drawn on a virtual one, into target/gander.png"; \
	xvfb-run -a -s "-screen 0 1400x900x24" target/release/gander --screenshot target/gander.png --size 1400x900 $$files
