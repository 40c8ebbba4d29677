package jit

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime"
)

// Text that the vendor's compiler refuses is given to it once more, with lines of Go;
// other failures have nothing to do with the text.
func TestRefusedText(t *testing.T) {
	g := newRig(t)
	for _, target := range []string{"msl:3.2", "hip:gfx1100", "ptx:sm_90"} {
		g.target, g.dev.calls = target, 0
		g.dev.err = &runtime.Error{Kind: runtime.ErrBadImage, Text: "line 3: no"}
		for range 2 { // the second time the text is in the cache
			_, _, err := g.resolve()
			require.ErrorIs(t, err, runtime.ErrBadImage)
			require.ErrorContains(t, err, "k.Scale: line 3: no")
			assert.Contains(t, string(g.dev.last), "// k/k.go:8\n")
		}
		assert.Equal(t, 4, g.dev.calls)

		g.dev.err = errors.New("no room")
		_, _, err := g.resolve()
		require.ErrorContains(t, err, "no room")
		assert.Equal(t, 5, g.dev.calls)
		assert.NotContains(t, string(g.dev.last), "k.go:")
	}
}
