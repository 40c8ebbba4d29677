package conformance

import (
	"fmt"

	"github.com/gokiln/kiln/runtime"
)

// Run runs one case on the device of a stream and returns the arguments as the kernel
// leaves them.
func Run(s *runtime.Stream, c Case) ([]any, error) { return onStream(s, c, false) }

// Plain runs one case as plain Go with warps of that size, and returns the arguments
// likewise.
func Plain(c Case, warpSize int) ([]any, error) { return onHost(c, warpSize) }

// Judge reports the first difference between the arguments as plain Go left them and as
// a device did.
func (c Case) Judge(want, got []any) error {
	for i := range want {
		if i < len(c.Near) && c.Near[i] != (Near{}) {
			var err error
			switch w := want[i].(type) {
			case []float64:
				err = compareNear(c.Near[i], w, got[i].([]float64))
			default:
				err = compareNear(c.Near[i], w.([]float32), got[i].([]float32))
			}
			if err != nil {
				return fmt.Errorf("argument %d: %w", i+1, err)
			}
			continue
		}
		if err := Compare(want[i], got[i]); err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return nil
}
