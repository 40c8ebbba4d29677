package reduce

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tests/engine"
	"github.com/gokiln/kiln/tests/fuzz/gen"
)

func TestAgreement(t *testing.T) {
	for _, e := range engine.Native() {
		e.Need(t)
		_, err := Kernel(gen.New(3), e.Name)
		require.ErrorIs(t, err, ErrAgree)
	}
	_, err := Kernel(gen.New(3), "sse")
	require.Error(t, err)
}

// Every change gives source that can be read; loops still end, and
// shared memory is filled.
func TestChanges(t *testing.T) {
	const source = `
func K(t dsl.Thread, x []int) {
	n := 0
	for {
		if n++; n > 3 {
			break
		}
		x[n] = 1
	}
	for range 4 {
		x[0] += f(x[1], 2)
	}
	sh := dsl.Shared[[4]int](t)
	sh[1] = n
	t.Sync()
	switch {
	case n > 1:
		x[2]++
	default:
		x[3]--
	}
}
`
	seen := map[string]bool{}
	for _, small := range []bool{false, true} {
		for n := 0; ; n++ {
			text, more := change(source, small, n)
			if !more {
				require.NotZero(t, n)
				break
			}
			_, err := parser.ParseFile(token.NewFileSet(), "", "package k\n"+text, 0)
			require.NoError(t, err)
			seen[text] = true
			if !small {
				assert.Contains(t, text, "sh[1] = n\n\tt.Sync()")
			}
			assert.NotRegexp(t, `for \{\s*(x|\})`, text)
		}
	}
	for _, want := range []string{"t.Sync()\n\n\tx[2]++", "x[0] += 2", "x[0] += f(1, 2)"} {
		found := false
		for text := range seen {
			found = found || strings.Contains(text, want)
		}
		assert.True(t, found, want)
	}
}
