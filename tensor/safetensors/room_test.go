package safetensors_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor/file"
)

// A header takes memory in proportion to its size, whatever it nests and repeats.
func TestMemoryOfHeaders(t *testing.T) {
	const size = 12 << 20
	var names, tensors strings.Builder
	for i := 0; i <= 1<<20; i++ {
		fmt.Fprintf(&names, `"%x":"",`, i)
	}
	for i := 0; tensors.Len() < size/4; i++ {
		fmt.Fprintf(&tensors, `"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`, i)
	}
	for name, c := range map[string]struct {
		header, want string
		times        uint64 // with all that is garbage again
	}{
		"arrays":   {`{"a":{"x":` + strings.Repeat("[", size), "values within each other more than 100 times", 8},
		"objects":  {`{"a":{"x":` + strings.Repeat(`{"":`, size/4), "values within each other more than 100 times", 8},
		"one text": {`{"a":{"x":"` + strings.Repeat("a", size), "the text ends too early", 8},
		"names":    {`{"__metadata__":{` + names.String(), "__metadata__ has more than 1048576 names", 64},
		"tensors":  {"{" + tensors.String(), "", 64},
	} {
		t.Run(name, func(t *testing.T) {
			b := image(c.header, 0)
			if name == "tensors" {
				b = image(strings.TrimSuffix(c.header, ",")+"}", 0)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := read(b)
			runtime.ReadMemStats(&after)
			if name == "tensors" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, file.ErrFormat)
				require.ErrorContains(t, err, c.want)
			}
			require.Less(t, after.TotalAlloc-before.TotalAlloc, c.times*uint64(len(b)))
		})
	}
}
