package opstest

import (
	"math/rand/v2"
	"testing"

	"github.com/gokiln/kiln/runtime"
)

// RunScans tests scans.
func RunScans(t *testing.T, dev *runtime.Device) {
	scan(t, &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))})
}
