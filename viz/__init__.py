"""Arrays in, Plotly figures out. Knows no Streamlit."""
