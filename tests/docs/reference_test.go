package docs

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/front"
)

var update = flag.Bool("update", false, "rewrite docs/reference.md, the figures, what programs of docs/tensors.md print, the functions in docs/products.md, and the numbers of docs/adding-a-backend.md")

const (
	root = "../.."
	page = root + "/docs/reference.md"
)

func TestReference(t *testing.T) {
	want, err := Reference(root)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run go test ./tests/docs -update")
}

// TestComplete checks that no intrinsic is missing.
func TestComplete(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, name := range front.Intrinsics() {
		title := strings.NewReplacer("dsl.Thread.", "t.", "dsl.MBarrier.", "MBarrier.").Replace(name)
		assert.True(t, strings.Contains(string(text), "### "+title+"\n") || strings.Contains(string(text), "| `"+title+"` |"), name)
	}
}

func TestCost(t *testing.T) {
	for _, c := range []struct {
		opcodes []string
		want    string
	}{
		{nil, "free"}, {[]string{"add.rn.f32"}, "arithmetic"}, {[]string{"mul.lo.s64"}, "slow arithmetic"},
		{[]string{"mul.lo.s32", "div.rn.f32"}, "division, 2 instructions"}, {[]string{"bar.sync"}, "barrier"},
	} {
		got, err := cost(c.opcodes)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	_, err := cost([]string{"frob.b32"})
	assert.ErrorContains(t, err, "frob.b32 has no cost class")
}
