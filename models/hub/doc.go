// Package hub downloads models from the Hugging Face hub, or from a mirror of it, into the cache
// that the hub's own libraries use, and finds what is there already.
//
//	c, err := hub.FromEnvironment()
//	path, err := c.Model(ctx, "Qwen/Qwen3-0.6B", nil) // or "org/name-GGUF:Q4_K_M"
//	lm, err := models.Open(path, models.Options{})
//
// [Client.Model] takes what a model needs of a repository, and [Client.Download] any files.
//
// # Cache
//
// Each file is kept once, by its checksum, and each commit of a repository is a folder of links:
//
//	models--org--name/blobs/<checksum>         files; <checksum>.incomplete while they come
//	models--org--name/refs/main                the commit of a branch or tag
//	models--org--name/snapshots/<commit>/…     links to blobs, by the names of the files
//	models--org--name/trees/<commit>.json      which files the commit has
//
// A file appears when it is whole and its checksum is right: the SHA-256 of those in large file
// storage, and git's SHA-1 of others. A download that was cut goes on where it ended, in this
// process or the next. Processes that want one file wait for each other by locks below .locks.
//
// # Environment
//
// [FromEnvironment] reads the variables of the hub's libraries: HF_HOME and HF_HUB_CACHE for the
// cache, HF_ENDPOINT for a mirror, HF_TOKEN or the file at HF_TOKEN_PATH for what is private or
// gated, and HF_HUB_OFFLINE. The token is sent to the endpoint only, wherever that redirects to.
//
// A server is not trusted: names that lead out of the folder, sizes that do not fit and endless
// answers are errors of kind [ErrAnswer].
package hub
