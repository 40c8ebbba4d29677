package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/internal/atomicfile"
)

// The types of what is kept.
const (
	ArtifactType = "application/vnd.kiln.bundle.v1"
	headType     = "application/vnd.kiln.bundle.head.v1"
	sectionType  = "application/vnd.kiln.bundle.section.v1"

	// Annotations of layers and manifests.
	targetNote = "io.kiln.target"
	digestNote = "io.kiln.bundle"

	maxHead = 300 << 20
)

// Open returns the repository that a reference names, and the tag or digest in it.
// Registries on this machine may do without TLS.
func Open(reference string) (*remote.Repository, string, error) {
	ref, err := registry.ParseReference(strings.TrimPrefix(reference, "oci://"))
	if err != nil {
		return nil, "", fmt.Errorf("%q is no reference such as registry.example.com/team/kernels:v1: %w", reference, err)
	}
	if ref.Reference == "" {
		return nil, "", fmt.Errorf("%q has neither a tag nor a digest: add :v1 or @sha256:…", reference)
	}
	repo, err := remote.NewRepository(ref.Registry + "/" + ref.Repository)
	if err != nil {
		return nil, "", err
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("credentials of Docker: %w", err)
	}
	repo.Client = &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(store)}
	repo.PlainHTTP = local(ref.Host())
	return repo, ref.Reference, nil
}

// local reports whether a host with a port is this machine.
func local(host string) bool {
	name, _, _ := strings.Cut(host, ":")
	return name == "localhost" || name == "127.0.0.1" || strings.HasPrefix(host, "[::1]")
}

// Push stores a bundle under a tag, and returns the digest of its manifest.
func Push(ctx context.Context, to oras.Target, tag string, b *bundle.Bundle) (string, error) {
	var head bytes.Buffer
	if err := b.Copy(&head, func(string) bool { return false }); err != nil {
		return "", err
	}
	config, err := push(ctx, to, headType, bytes.NewReader(head.Bytes()))
	if err != nil {
		return "", err
	}
	var layers []spec.Descriptor
	for _, s := range b.Header().Sections {
		r, err := b.Section(s.Target)
		if err != nil {
			return "", fmt.Errorf("only whole bundles are pushed: %w", err)
		}
		layer, err := push(ctx, to, sectionType, r)
		if err != nil {
			return "", err
		}
		layer.Annotations = map[string]string{targetNote: s.Target}
		layers = append(layers, layer)
	}
	manifest, err := json.Marshal(spec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: spec.MediaTypeImageManifest, ArtifactType: ArtifactType,
		Config: config, Layers: layers, Annotations: map[string]string{digestNote: b.Digest().String()},
	})
	if err != nil {
		return "", err
	}
	d, err := oras.TagBytes(ctx, to, spec.MediaTypeImageManifest, manifest, tag)
	if err != nil {
		return "", fmt.Errorf("pushing the manifest: %w", err)
	}
	return d.Digest.String(), nil
}

// push stores what is not there yet.
func push(ctx context.Context, to oras.Target, mediaType string, r io.ReadSeeker) (spec.Descriptor, error) {
	d, err := digest.FromReader(r)
	if err != nil {
		return spec.Descriptor{}, err
	}
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return spec.Descriptor{}, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return spec.Descriptor{}, err
	}
	desc := spec.Descriptor{MediaType: mediaType, Digest: d, Size: size}
	if there, err := to.Exists(ctx, desc); err != nil || there {
		return desc, err
	}
	if err := to.Push(ctx, desc, r); err != nil && !errors.Is(err, errdef.ErrAlreadyExists) {
		return desc, fmt.Errorf("pushing %s: %w", d, err)
	}
	return desc, nil
}

// Pulled says what Pull has done.
type Pulled struct {
	Digest  string   // of the manifest
	Targets []string // whose sections were pulled, bundle.Common left out
	Others  []string // that the bundle has besides
	Bytes   int64    // that were pulled
}

// Pull writes a copy of a bundle to a file, with the sections for the targets that choose takes of
// those that there are. Trust is looked at
// before a section is pulled; the registry's digests are verified, and then the bundle's own.
func Pull(ctx context.Context, from oras.ReadOnlyTarget, reference, file string, choose func(targets []string) []string, trust bundle.Trust) (*Pulled, error) {
	desc, text, err := oras.FetchBytes(ctx, from, reference, oras.DefaultFetchBytesOptions)
	if err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", reference, err)
	}
	var m spec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", reference, err)
	}
	if m.ArtifactType != ArtifactType || m.Config.MediaType != headType {
		return nil, fmt.Errorf("%s is a %s, not a bundle of kernels", reference, orImage(m))
	}
	if m.Config.Size > maxHead {
		return nil, fmt.Errorf("%s: head of %d bytes", reference, m.Config.Size)
	}
	text, err = content.FetchAll(ctx, from, m.Config)
	if err != nil {
		return nil, fmt.Errorf("head of %s: %w", reference, err)
	}
	head, err := bundle.Parse(reference, string(text))
	if err != nil {
		return nil, err
	}
	if err := trust.Check(head); err != nil {
		return nil, err
	}
	p := &Pulled{Digest: desc.Digest.String(), Bytes: m.Config.Size}
	return p, p.sections(ctx, from, head, m.Layers, file, choose)
}

// orImage names what a manifest is of.
func orImage(m spec.Manifest) string {
	if m.ArtifactType != "" {
		return m.ArtifactType
	}
	return m.Config.MediaType
}

// sections pulls layers and writes the file, which appears whole and verified or not at all.
func (p *Pulled) sections(ctx context.Context, from oras.ReadOnlyTarget, head *bundle.Bundle, layers []spec.Descriptor, file string, choose func([]string) []string) error {
	var have []string
	for _, s := range head.Header().Sections {
		if s.Target != bundle.Common {
			have = append(have, s.Target)
		}
	}
	wanted := choose(have)
	parts := map[string]io.Reader{}
	for i, s := range head.Header().Sections {
		if s.Target != bundle.Common && !slices.Contains(wanted, s.Target) {
			p.Others = append(p.Others, s.Target)
			continue
		}
		if i >= len(layers) || layers[i].Size != s.Size || layers[i].Annotations[targetNote] != s.Target {
			return fmt.Errorf("section %q has no layer of its size: the manifest does not belong to this bundle", s.Target)
		}
		f, drop, err := fetch(ctx, from, layers[i], file)
		if err != nil {
			return fmt.Errorf("section %q: %w", s.Target, err)
		}
		defer drop()
		parts[s.Target] = f
		if p.Bytes += s.Size; s.Target != bundle.Common {
			p.Targets = append(p.Targets, s.Target)
		}
	}
	out, err := atomicfile.Create(file, 0o644)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := errors.Join(head.Assemble(out, parts), out.Close()); err != nil {
		return err
	}
	b, err := bundle.Open(out.Temp())
	if err != nil {
		return err
	}
	if err := errors.Join(b.Verify(), b.Close()); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	atomicfile.Sweep(file, out.Time())
	return nil
}

// fetch pulls a layer into a file beside the one that it is for, and verifies its digest. Drop
// removes it.
func fetch(ctx context.Context, from oras.ReadOnlyTarget, layer spec.Descriptor, file string) (r io.Reader, drop func(), err error) {
	in, err := from.Fetch(ctx, layer)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	// As a temporary file of the bundle's, it is swept with those if this process is killed.
	f, err := atomicfile.Create(file, 0o600)
	if err != nil {
		return nil, nil, err
	}
	v := content.NewVerifyReader(in, layer)
	if _, err = io.Copy(f, v); err == nil {
		err = v.Verify()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		f.Abort()
		return nil, nil, err
	}
	have, err := os.Open(f.Temp())
	if err != nil {
		f.Abort()
		return nil, nil, err
	}
	return have, func() { _ = have.Close(); f.Abort() }, nil
}
