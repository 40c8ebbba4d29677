package front

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReference(t *testing.T) {
	names := Intrinsics()
	require.NotEmpty(t, names)
	require.IsIncreasing(t, names)
	for path, text := range StandIns() {
		f, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(path, f.Name.Name))
	}
}
