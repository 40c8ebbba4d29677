package opstest

import (
	"math/rand/v2"
	"testing"

	"github.com/gokiln/kiln/runtime"
)

// RunRows tests the operations that go through rows, which devices divide in different
// ways.
func RunRows(t *testing.T, dev *runtime.Device) {
	for _, f := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{{"Reduce", reduce}, {"RowNorm", rowNorm}, {"Scan", scan}, {"Sort", sorting}, {"Index", index}, {"Search", searching}, {"Conv", convolution}} {
		t.Run(f.name, func(t *testing.T) {
			f.run(t, &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))})
		})
	}
}
