package jit

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSettings(t *testing.T) {
	env := func(pairs map[string]string) func(string) string {
		return func(name string) string { return pairs[name] }
	}
	t.Setenv("KILN_CACHE_DIR", filepath.Join(t.TempDir(), "c"))
	s, err := readSettings(env(nil), nil)
	require.NoError(t, err)
	assert.Equal(t, Auto, s.mode)
	assert.NotNil(t, s.store)

	s, err = readSettings(env(map[string]string{"KILN_JIT": "OFF"}), nil)
	require.NoError(t, err)
	assert.Equal(t, Off, s.mode)
	assert.Nil(t, s.store)

	_, err = readSettings(env(map[string]string{"KILN_JIT": "maybe"}), nil)
	assert.ErrorContains(t, err, "KILN_JIT=maybe: want auto, readonly or off")
	_, err = readSettings(env(map[string]string{"KILN_LOG": "loud"}), nil)
	assert.ErrorContains(t, err, "KILN_LOG=loud")

	assert.False(t, s.options.Checked)
	for value, want := range map[string]bool{"1": true, "true": true, "0": false} {
		s, err = readSettings(env(map[string]string{"KILN_CHECK": value}), nil)
		require.NoError(t, err)
		assert.Equal(t, want, s.options.Checked, value)
	}
	_, err = readSettings(env(map[string]string{"KILN_CHECK": "all"}), nil)
	assert.ErrorContains(t, err, "KILN_CHECK=all: want 1 or 0")

	var out bytes.Buffer
	s, err = readSettings(env(map[string]string{"KILN_LOG": "info"}), &out)
	require.NoError(t, err)
	s.log.Info("compiled", "kernel", "k")
	s.debug("not shown")
	assert.Equal(t, "msg=compiled kernel=k\n", out.String())
}

func TestIsIdent(t *testing.T) {
	for name, want := range map[string]bool{"F": true, "_a9": true, "Größe": true, "": false, "main.func1": false, "T.M-fm": false, "9a": false} {
		assert.Equal(t, want, isIdent(name), name)
	}
}
