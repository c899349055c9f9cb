# VoxFleet for the CPU:   docker build -t voxfleet:cpu .
# For NVIDIA GPUs:        docker build -t voxfleet:cuda --build-arg DEVICE=cuda .
# With extras:            docker build -t voxfleet:cpu --build-arg EXTRAS=otel .
# With its commit:        docker build -t voxfleet:cpu --build-arg COMMIT=$(git rev-parse HEAD) .
# TORCH_INDEX is a mirror of PyTorch's index of CPU builds. Where none can be reached, the image for the CPU carries
# PyTorch's CUDA libraries unused, several GB.
# Run it:                 docker run --init -p 8006:8006 voxfleet:cpu

ARG PYTHON_VERSION=3.12

FROM python:${PYTHON_VERSION}-slim-bookworm AS packages
ARG DEVICE=cpu
ARG TORCH_INDEX=
ARG EXTRAS=
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/voxfleet
ENV PATH=/opt/voxfleet/bin:$PATH
WORKDIR /app
COPY constraints.txt ./
COPY locks locks
COPY scripts scripts
RUN VOXFLEET_TORCH_INDEX=$TORCH_INDEX python scripts/install_packages.py \
        --venv /opt/voxfleet --device "$DEVICE" --extras "$EXTRAS" --packages-only

FROM python:${PYTHON_VERSION}-slim-bookworm
ARG DEVICE=cpu
# Triton builds its launchers with a C compiler at run time.
RUN if [ "$DEVICE" = cuda ]; then \
        apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev \
        && rm -rf /var/lib/apt/lists/*; \
    fi \
    && useradd --system --uid 10001 --create-home voxfleet \
    && install -d -o voxfleet -g voxfleet /data
ENV PATH=/opt/voxfleet/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    VOXFLEET_DATA_DIR=/data \
    HF_HOME=/data/huggingface \
    TRITON_CACHE_DIR=/data/triton \
    TORCHINDUCTOR_CACHE_DIR=/data/inductor
COPY --from=packages /opt/voxfleet /opt/voxfleet
WORKDIR /app
COPY LICENSE pyproject.toml ./
COPY engine engine
COPY models models
COPY sockets sockets
COPY telemetry telemetry
COPY worker worker
COPY gateway gateway
COPY voxfleet voxfleet
COPY frontend frontend
COPY configs configs
COPY deploy deploy
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e .
# Last, so that another commit builds nothing anew.
ARG COMMIT=
ENV VOXFLEET_COMMIT=$COMMIT
USER voxfleet
VOLUME /data
EXPOSE 8006
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8006/health', timeout=4)"]
ENTRYPOINT ["voxfleet"]
CMD ["serve", "--host", "0.0.0.0"]
