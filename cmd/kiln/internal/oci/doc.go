// Package oci keeps bundles in registries of containers, as artifacts of their own type.
//
// The manifest's config is the bundle without sections: header, signatures and list of
// entries. Each section is a layer, so that a machine pulls those of its devices only,
// and registries keep what two bundles share once. The same bundle gives the same
// manifest, whose digest can be asked for (name@sha256:…).
//
//	d, err := oci.Push(ctx, repo, "v1", b)
//	d, err := oci.Pull(ctx, repo, "v1", "app.kiln", choose, trust)
//
// Credentials are those of Docker's configuration.
package oci
