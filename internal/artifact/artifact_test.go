package artifact

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler/ir"
)

func TestSource(t *testing.T) {
	src := Source{IR: "00ff", Positions: []ir.Pos{{File: "k/k.go", Line: 7, Col: 3}, {}}}
	e, err := src.Entry("k.Scale", `{"kernel":"k.Scale"}`)
	require.NoError(t, err)
	hash, positions, err := ReadSource(e)
	require.NoError(t, err)
	assert.Equal(t, "00ff", hash)
	assert.Equal(t, appendPositions(nil, src.Positions), []byte(positions))
	spec, err := SpecOf(e)
	require.NoError(t, err)
	assert.Equal(t, `{"kernel":"k.Scale"}`, spec)

	// Entries of earlier releases do not say what they were made of.
	e.Meta, e.Body = []byte(`{"ir":"00ff"}`), appendPositions(nil, src.Positions)
	hash, positions, err = ReadSource(e)
	require.NoError(t, err)
	assert.Equal(t, "00ff", hash)
	assert.Equal(t, e.Body, []byte(positions))
	spec, err = SpecOf(e)
	require.NoError(t, err)
	assert.Empty(t, spec)

	for meta, want := range map[string]string{
		`{"ir":"00ff","spec_bytes":99}`: "99 of them its specialisation",
		`{"ir":"00ff","spec_bytes":-1}`: "-1 of them its specialisation",
		`{"spec_bytes":1}`:              "without a hash",
		`{`:                             "source entry: ",
	} {
		e.Meta = []byte(meta)
		_, _, err = ReadSource(e)
		assert.ErrorContains(t, err, want, meta)
	}
	e.Kind = cache.KindMachine
	_, err = SpecOf(e)
	assert.ErrorContains(t, err, "an entry of kind machine, want source")
}
