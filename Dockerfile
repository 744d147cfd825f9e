# One image, two commands: `conclave serve` (the API) and `conclave worker` (runs only).
FROM python:3.12-slim
ENV PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /srv/conclave
# Reads the letters of scans, where Vietnamese and English stand.
RUN apt-get update && apt-get install -y --no-install-recommends tesseract-ocr tesseract-ocr-vie && rm -rf /var/lib/apt/lists/*
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock
COPY pyproject.toml README.md alembic.ini ./
COPY app app
COPY migrations migrations
COPY extras extras
COPY seed_data seed_data
RUN pip install --no-deps . && useradd --create-home conclave && install -d -o conclave -m 700 /var/lib/conclave /var/lib/conclave/spool
USER conclave
ENV CONCLAVE_DATA_DIR=/var/lib/conclave
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/ready')"]
CMD ["conclave", "serve", "--host", "0.0.0.0", "--port", "8000"]
