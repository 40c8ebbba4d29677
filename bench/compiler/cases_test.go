package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// TestCases runs every kernel, small, against its reference in plain Go: on
// the CPU, and on a GPU, where sanitize.sh runs it under compute-sanitizer.
func TestCases(t *testing.T) {
	t.Run("cpu", func(t *testing.T) {
		dev, err := runtime.Open("cpu")
		require.NoError(t, err)
		defer dev.Close()
		runCases(t, dev)
	})
	t.Run("cuda", func(t *testing.T) {
		dev, err := runtime.Open("cuda:0")
		if err != nil {
			t.Skipf("needs an NVIDIA GPU: %v", err)
		}
		defer dev.Close()
		runCases(t, dev)
	})
}

// TestWithoutAPass runs the cases once for each pass and stage of an emitter, in a
// process that leaves it out.
func TestWithoutAPass(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not in a -short run")
	}
	required := map[string]bool{}
	for _, p := range slices.Concat(pass.Passes, pass.Vector) {
		required[p.Name] = p.Required
	}
	names := pass.Names()
	for _, s := range pass.Stages {
		names = append(names, s.Name)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestCases$")
			cmd.Env = append(os.Environ(), "KILN_DISABLE_PASS="+name, "KILN_CACHE_DIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if required[name] {
				require.Error(t, err)
				require.Contains(t, string(out), fmt.Sprintf("pass %q cannot be disabled: later stages need it", name))
				return
			}
			require.NoError(t, err, string(out))
		})
	}
}

func runCases(t *testing.T, dev *runtime.Device) {
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			p, err := k.build(dev, true)
			require.NoError(t, err)
			defer p.free()
			require.NoError(t, p.reset())
			require.Error(t, p.check(), "before the launch")
			require.NoError(t, jit.Of(k.kernel).Launch(dev.DefaultStream(), p.grid, p.args...))
			require.NoError(t, p.check())

			require.NoError(t, p.reset())
			require.NoError(t, jit.Of(k.kernel).Checked().Launch(dev.DefaultStream(), p.grid, p.args...))
			require.NoError(t, p.check(), "checked")
		})
	}
}
