package ops_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// TestLongSums tests the errors of sums of 2^25 numbers on each device. The interpreter, and all
// devices in short tests, have fewer, unless KILN_ACCURACY is all.
func TestLongSums(t *testing.T) {
	for _, name := range devices() {
		t.Run(name, func(t *testing.T) {
			dev, err := runtime.Open(name)
			require.NoError(t, err)
			defer dev.Close()
			n := 1 << 25
			if os.Getenv("KILN_ACCURACY") != "all" {
				switch {
				case name == "cpu:interp":
					n = 1 << 17
				case testing.Short():
					n = 1 << 21
				}
			}
			list := opstest.LongSums(t, dev, n)
			for _, a := range list {
				t.Logf("%-32s %8.2f of %4.0f ulp, of %s", a.Name, a.Ulps, a.Most, a.Data)
			}
			opstest.CheckAccuracy(t, list)
		})
	}
}
