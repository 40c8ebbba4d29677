package oci

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/internal/tooltest"
)

// startRegistry runs the reference registry and returns its address.
func startRegistry(t *testing.T) string {
	program := tooltest.Find(t, "KILN_REGISTRY", "docker-registry")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q}\n", filepath.Join(dir, "data"), addr), 0o600))
	cmd := exec.Command(program, "serve", config)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	require.Eventually(t, func() bool {
		r, err := http.Get("http://" + addr + "/v2/")
		if err == nil {
			_ = r.Body.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	return addr
}

// sample writes a bundle for three targets.
func sample(t *testing.T, sign ...ed25519.PrivateKey) *bundle.Bundle {
	w := bundle.Writer{Compiler: "7", Sign: sign}
	for i := range 40 {
		tgt := []string{bundle.Common, "hip:gfx942", "ptx:sm_80", "ptx:sm_90"}[i%4]
		require.NoError(t, w.Add(cache.NewKey(fmt.Sprint(i)), &cache.Entry{Header: cache.Header{Kernel: "k.K", Target: tgt}, Body: []byte(strings.Repeat(fmt.Sprint(i, " "), 500))}))
	}
	name := filepath.Join(t.TempDir(), "app.kiln")
	require.NoError(t, w.WriteFile(name))
	b, err := bundle.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func only(targets ...string) func([]string) []string {
	return func([]string) []string { return targets }
}

func TestRegistry(t *testing.T) {
	addr := startRegistry(t)
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	b := sample(t, key)
	repo, tag, err := Open("oci://" + addr + "/team/kernels:v1")
	require.NoError(t, err)
	digest, err := Push(t.Context(), repo, tag, b)
	require.NoError(t, err)
	again, err := Push(t.Context(), repo, "v2", b)
	require.NoError(t, err)
	require.Equal(t, digest, again, "the same bundle has the same manifest")

	file := filepath.Join(t.TempDir(), "pulled.kiln")
	p, err := Pull(t.Context(), repo, tag, file, only("ptx:sm_90"), bundle.Trust{public})
	require.NoError(t, err)
	require.Equal(t, digest, p.Digest)
	require.Equal(t, []string{"ptx:sm_90"}, p.Targets)
	require.Equal(t, []string{"hip:gfx942", "ptx:sm_80"}, p.Others)
	got, err := bundle.Open(file)
	require.NoError(t, err)
	defer got.Close()
	require.NoError(t, got.Verify())
	require.Equal(t, b.Digest(), got.Digest())
	require.True(t, got.Has("ptx:sm_90"))
	require.False(t, got.Has("ptx:sm_80"))
	e, err := got.Get("ptx:sm_90", cache.NewKey("3"))
	require.NoError(t, err)
	require.Equal(t, "k.K", e.Kernel)

	// By digest; with everything; and not from strangers.
	pinned, tag, err := Open(addr + "/team/kernels@" + digest)
	require.NoError(t, err)
	whole := filepath.Join(t.TempDir(), "whole.kiln")
	_, err = Pull(t.Context(), pinned, tag, whole, func(have []string) []string { return have }, nil)
	require.NoError(t, err)
	original, err := os.ReadFile(b.Name())
	require.NoError(t, err)
	copied, err := os.ReadFile(whole)
	require.NoError(t, err)
	require.Equal(t, original, copied)
	stranger, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	_, err = Pull(t.Context(), repo, "v1", filepath.Join(t.TempDir(), "x"), only(), bundle.Trust{stranger})
	require.ErrorIs(t, err, bundle.ErrUntrusted)

	// What is not there, and what cannot be pushed.
	_, err = Pull(t.Context(), repo, "v3", file, only(), nil)
	require.ErrorContains(t, err, "manifest of v3")
	_, err = Push(t.Context(), repo, "v4", got)
	require.ErrorContains(t, err, "only whole bundles are pushed")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestReferences(t *testing.T) {
	for text, want := range map[string]string{
		"kernels":                 "is no reference",
		"registry.example.com/a":  "has neither a tag nor a digest",
		"registry.example.com/A:": "is no reference",
	} {
		_, _, err := Open(text)
		require.ErrorContains(t, err, want)
	}
	repo, tag, err := Open("registry.example.com/a/b:v1")
	require.NoError(t, err)
	require.False(t, repo.PlainHTTP)
	require.Equal(t, "v1", tag)
}
