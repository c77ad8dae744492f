module dace.local

go 1.26.0

require (
	// The types of gorgonia's operations: LeakyReLU as one of them.
	github.com/chewxy/hm v1.0.0
	// Dormant since 2024, pure Go; guarded by kernel/internal/jupyter/transport, its only importer.
	github.com/go-zeromq/zmq4 v0.17.0
	// Upstream main of 2024-07-30: the tagged v0.16.1 shares loop variables
	// between iterations, so closures made in a loop are silently wrong.
	github.com/traefik/yaegi v0.16.2-0.20240730175404-e686f55767b9
	// The engine of farms; dacelib/farm/natsfarm is the only importer.
	github.com/nats-io/nats-server/v2 v2.15.2
	github.com/nats-io/nats.go v1.55.0
	// What the command carries, compressed better than by gzip.
	github.com/klauspost/compress v1.20.3
	// Markdown of `dace run -html`.
	github.com/yuin/goldmark v1.8.7
	// gorgonia and tensor panic at init on Go 1.26 with any older version.
	go4.org/unsafe/assume-no-moving-gc v0.0.0-20231121144256-b99613f794b6 // indirect
	// Letters as outlines (sfnt), for PDF and EPS files that need no fonts.
	golang.org/x/image v0.43.0
	golang.org/x/sys v0.49.0
	// The prompt of `dace repl`.
	golang.org/x/term v0.47.0
	// Export data in and out (gcexportdata): the types that cells are checked against.
	golang.org/x/tools v0.52.0
	// Distributions, linear algebra, BLAS.
	gonum.org/v1/gonum v0.17.0
	// Every figure is a *plot.Plot.
	gonum.org/v1/plot v0.17.0
	// Defines the NIR's graph and its gradients (the paper's model).
	gorgonia.org/gorgonia v0.9.18
	// The version that gorgonia v0.9.18 works with.
	gorgonia.org/tensor v0.9.24
)

require golang.org/x/text v0.43.0

require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/antithesishq/antithesis-sdk-go v0.8.0-default-no-op // indirect
	github.com/apache/arrow/go/arrow v0.0.0-20211112161151-bc219186db40 // indirect
	github.com/awalterschulze/gographviz v2.0.3+incompatible // indirect
	github.com/chewxy/math32 v1.10.1 // indirect
	github.com/go-zeromq/goczmq/v4 v4.2.2 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/google/flatbuffers v25.12.19+incompatible // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/google/uuid v1.3.0 // indirect
	github.com/leesper/go_rng v0.0.0-20190531154944-a612b043e353 // indirect
	github.com/minio/highwayhash v1.0.4 // indirect
	github.com/nats-io/jwt/v2 v2.8.2 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/xtgo/set v1.0.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	golang.org/x/xerrors v0.0.0-20200804184101-5ec99f83aff1 // indirect
	google.golang.org/protobuf v1.34.2 // indirect
	gorgonia.org/cu v0.9.4 // indirect
	gorgonia.org/dawson v1.2.0 // indirect
	gorgonia.org/vecf32 v0.9.0 // indirect
	gorgonia.org/vecf64 v0.9.0 // indirect
	rsc.io/pdf v0.1.1 // indirect
)
