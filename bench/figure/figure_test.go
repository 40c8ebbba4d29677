package figure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		q, want float64
	}{
		{nil, 0.5, 0},
		{[]float64{3}, 0.9, 3},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 2, 3}, 0.5, 2.5},
		{[]float64{0, 10}, 0.1, 1},
	} {
		require.InDelta(t, c.want, Quantile(c.samples, c.q), 1e-12, "%v", c)
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 4217.3: "4217", 93.84: "93.84", 0.012345: "0.01235", 1.5: "1.500"} {
		require.Equal(t, want, number(x))
	}
}

func TestList(t *testing.T) {
	var b strings.Builder
	require.NoError(t, WriteList(&b, []Row{Of("s", "a", "kiln", "ms", "by hand", []float64{1, 2}), Of("s", "long name", "kiln", "GB/s", "", nil)}))
	require.Equal(t, "a          1.500  ms    by hand\nlong name  0      GB/s  \n", b.String())
}

// TestRead checks that what is written is read again, and that a line that is no row is named.
func TestRead(t *testing.T) {
	rows := []Row{Of("s", "a", "kiln", "ms", "", []float64{1, 2}), {What: "b", Note: "c"}}
	var b strings.Builder
	require.NoError(t, WriteJSON(&b, rows))
	require.Equal(t, `{"suite":"s","what":"a","who":"kiln","median":1.5,"p10":1.1,"p90":1.9,"unit":"ms"}`, strings.Split(b.String(), "\n")[0])
	name := filepath.Join(t.TempDir(), "rows")
	require.NoError(t, os.WriteFile(name, []byte("\n"+b.String()), 0o600))
	got, err := Read([]string{name})
	require.NoError(t, err)
	require.Equal(t, rows, got)
	require.NoError(t, os.WriteFile(name, []byte(b.String()+"{"), 0o600))
	_, err = Read([]string{name})
	require.ErrorContains(t, err, name+":3: ")
}
