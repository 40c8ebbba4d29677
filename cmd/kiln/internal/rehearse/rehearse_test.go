package rehearse

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/tensor"
)

func TestMain(m *testing.M) { os.Exit(tooltest.Run(m)) }

const model = "../../../../models/testdata/llama_a.Q4_K_M.gguf"

// TestModel generates texts behind a rehearsal, which then need no kernel that it did not have.
func TestModel(t *testing.T) {
	d, err := tensor.Open("record:ptx:sm_90/132")
	require.NoError(t, err)
	require.NoError(t, Model(model, models.Options{Device: d}, Work{Sequences: 3, Chunk: 40}))
	var more []string
	stop := jit.OnResolve(func(e jit.Event) { more = append(more, e.Kernel) })
	defer stop()
	for _, paged := range []bool{false, true} {
		lm, err := models.Open(model, models.Options{Device: d, Paged: paged})
		require.NoError(t, err)
		g := &generate.Generator[*models.Sequence]{Model: lm, Context: lm.Config.MaxPositions, Chunk: 40}
		b := generate.NewBatch(g, generate.BatchOptions{Sequences: 3, Page: models.PageTokens})
		var all []*generate.Stream
		for i, o := range options {
			s, err := b.Start(t.Context(), make([]int32, 1+5*i), generate.Options{Sampling: o, MaxTokens: 5 + i})
			require.NoError(t, err)
			all = append(all, s)
		}
		for _, s := range all {
			_, err := s.Text()
			require.NoError(t, err)
		}
		require.NoError(t, b.Close(t.Context()))
	}
	require.Empty(t, strings.Join(more, "\n"))
}

func TestErrors(t *testing.T) {
	d, err := tensor.Open("record:cpu")
	require.NoError(t, err)
	require.ErrorContains(t, Model("none.gguf", models.Options{Device: d}, Work{1, 8}), "none.gguf")
}

func TestCounts(t *testing.T) {
	require.Equal(t, []int{1, 2, 3}, counts(3))
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 40, 48, 50}, counts(50))
}
