package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/engine"
)

// Each engine has a sixth of the cases and such as have every kernel and every type, or all of them in
// a sweep. A -short run has some.
func TestCPU(t *testing.T) {
	place := -1
	engine.Each(t, func(t *testing.T, dev *runtime.Device) {
		if testing.Short() {
			conformance.RunSome(t, dev)
			return
		}
		place++
		conformance.RunShare(t, dev, place%3, 6)
		conformance.RunHuge(t, dev)
		conformance.RunUnset(t, dev)
	})
}

// The table of features that targets are without is what the compiler says of every target.
func TestFeatures(t *testing.T) {
	have := map[string]bool{}
	for _, tgt := range target.All() {
		conformance.CheckFeatures(t, tgt)
		have[tgt.String()] = true
	}
	for name := range conformance.Without {
		require.True(t, have[name], "there is no target %s", name)
	}
}

func TestCUDA(t *testing.T) {
	dev, err := runtime.Open("cuda:0")
	if err != nil {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	}
	defer dev.Close()
	conformance.RunAll(t, dev)
	conformance.RunHuge(t, dev)
}
