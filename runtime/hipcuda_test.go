package runtime

import (
	"testing"

	"github.com/gokiln/kiln/runtime/internal/cudatest"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/rocm"
	"github.com/gokiln/kiln/tests/sim/hipcuda"
)

// hipOverCUDA is the ROCm driver on the stand-in for libcuda: what lies between is
// what runs it on an NVIDIA GPU.
func hipOverCUDA(tb testing.TB) driver.Backend {
	return rocm.New(hipcuda.BuildOver(tb, cudatest.Open(tb).Path))
}
