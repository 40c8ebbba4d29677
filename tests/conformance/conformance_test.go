package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
)

func TestCPU(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	conformance.RunAll(t, dev)
	conformance.RunHuge(t, dev)
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
