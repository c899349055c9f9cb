"""`voxfleet fleet render FILE --to kubernetes FOLDER`: what `kubectl apply -k FOLDER` applies.

The folder gets a copy of `deploy/kubernetes`, a Kustomization that joins its parts as the fleet file says,
one for each kind of workers, and the secrets that nobody has made yet. Rendering again replaces all but the
secrets; changes of your own belong into an overlay that names the folder as a resource.

render.py        `render`: the folder, and the Kustomization that joins its parts
gateways.py      patches of gateways, of their number, and of the way to them
workers.py       the folder of one kind of workers
scaling.py       how many workers of a kind KEDA runs
secret_files.py  secrets, each in a file
documents.py     what a patch is, and how it is written
"""

from voxfleet.fleet.kubernetes.render import RenderError, render

__all__ = ["RenderError", "render"]
