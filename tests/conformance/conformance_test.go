package conformance_test

import (
	"testing"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/engine"
)

func TestCPU(t *testing.T) {
	engine.Each(t, func(t *testing.T, dev *runtime.Device) {
		conformance.RunAll(t, dev)
		conformance.RunHuge(t, dev)
		conformance.RunUnset(t, dev)
	})
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
