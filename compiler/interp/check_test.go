package interp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Checks fail in the first thread that they concern, with its values, whatever the
// width and the form of the operands: %i is affine, %v an array, %u one value.
func TestChecks(t *testing.T) {
	for _, typ := range []string{"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"} {
		for _, c := range []struct{ check, want string }{
			{"divisor %u, %v", "integer divide by zero (dividend 5)"},
			{"divisor %w, %v", "integer divide by zero (dividend 45)"},
			{"divisor %u, %zero", "thread (0,0,0): integer divide by zero (dividend 5)"},
			{"divisor %w, %u", ""},
			{"count %minus", "thread (36,0,0): negative shift amount (-1)"},
			{"count %w", ""},
		} {
			if strings.HasPrefix(c.check, "count") && typ[0] == 'u' {
				continue
			}
			body := fmt.Sprintf(`
  %%k = const 9 : i64
  %%at = const 36 : i64
  %%is = eq %%i, %%at : bool
  %%u = const 5 : %[1]s
  %%zero = const 0 : %[1]s
  %%wide = add %%i, %%k : i64
  %%w = convert %%wide : %[1]s
  %%v = select %%is, %%zero, %%w : %[1]s
  %%not = not %%zero : %[1]s
  %%minus = select %%is, %%not, %%w : %[1]s
  %[2]s !1`, typ, c.check)
			err := tryRun(load(t, intKernel(body+out("%i"))), 1, 64, make([]int64, 64))
			if c.want == "" {
				require.NoError(t, err, "%s of %s", c.check, typ)
				continue
			}
			want := c.want
			if !strings.HasPrefix(want, "thread") {
				want = "thread (36,0,0): " + want
			}
			require.EqualError(t, err, "k/k.go:7: kernel K: block (0,0,0), "+want, "%s of %s", c.check, typ)
		}
	}
}

func TestNonNil(t *testing.T) {
	body := "\n  %at = const 36 : i64\n  %set = ne %i, %at : bool\n  nonnil %set !2"
	err := tryRun(load(t, intKernel(body+out("%i"))), 1, 64, make([]int64, 64))
	require.EqualError(t, err, "k/k.go:9: kernel K: block (0,0,0), thread (36,0,0): invalid memory address or nil pointer dereference")
	require.NoError(t, tryRun(load(t, intKernel(body+out("%i"))), 1, 32, make([]int64, 32)))
}

// The index of the last thread is 0 again, modulo 2^64, and those between are out of range.
func TestBoundsOfWrappedIndex(t *testing.T) {
	body := `
  %k = const 576460752303423488 : i64
  %x = mul %i, %k : i64
  bounds %x, %n !1`
	err := tryRun(load(t, intKernel(body+out("%i"))), 1, 33, make([]int64, 33))
	require.EqualError(t, err, "k/k.go:7: kernel K: block (0,0,0), thread (1,0,0): index out of range [576460752303423488] with length 33")
}
